import { parentPort, resourceLimits } from 'node:worker_threads';
import type { JsonTask } from '../../src/bodies/json-thread.ts';

// A thread that does what the body says, in place of one that reads it.
parentPort?.on('message', (task: JsonTask) => {
  const text = task.kind === 'prepare' ? Buffer.from(task.body).toString() : '';
  switch (text) {
    case 'hang':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      break;
    case 'crash':
      throw new Error('crashed');
    case 'fill the heap': {
      const kept: unknown[] = [];
      for (;;) kept.push({ at: kept.length, more: [kept.length] });
    }
    case 'exit':
      process.exit(0);
      break;
    case 'heap':
      parentPort?.postMessage({ kind: 'done', value: resourceLimits.maxOldGenerationSizeMb });
      break;
    case 'fail':
      parentPort?.postMessage({ kind: 'failed', error: new Error('a defect') });
      break;
    default:
      parentPort?.postMessage({ kind: 'done', value: text });
  }
});
