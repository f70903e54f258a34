import { parentPort } from 'node:worker_threads';
import { checkJson, type JsonCheck } from './check-json.ts';
import { LinearRegExp } from './linear-reg-exp.ts';

// The validator makes its patterns with the global constructor. No pattern of a client may take more than linear time, and
// nothing else in this thread makes one.
Object.assign(globalThis, { RegExp: LinearRegExp });

parentPort?.on('message', (checks: JsonCheck[]) => parentPort?.postMessage(checks.map(checkJson)));
// Its modules are loaded: from here on, its time belongs to the checks.
parentPort?.postMessage('ready');
