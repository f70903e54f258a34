import { parentPort } from 'node:worker_threads';
import { checkJson, type JsonCheck, type JsonVerdict } from './check-json.ts';
import { LinearRegExp } from './linear-reg-exp.ts';

/** Messages of the thread: one when it can begin, then one verdict for each check, in order. */
export type CheckThreadMessage = { kind: 'ready' } | { kind: 'verdicts'; verdicts: JsonVerdict[] };

// The validator makes its patterns with the global constructor. No pattern of a client may take more than linear time, and
// nothing else in this thread makes one.
Object.assign(globalThis, { RegExp: LinearRegExp });

const tell = (message: CheckThreadMessage) => parentPort?.postMessage(message);

parentPort?.on('message', (checks: JsonCheck[]) =>
  tell({ kind: 'verdicts', verdicts: checks.map(checkJson) }),
);
tell({ kind: 'ready' });
