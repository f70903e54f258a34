import { createServer } from 'node:net';
import { createLogger, FatalError, runProcess, type StopReason } from '../../src/index.ts';

/*
 * A process for lifecycle.test.ts. It writes `started` when it runs and `stop <reason>` when it is asked to stop; its
 * argument says how it behaves.
 */

const behaviour = process.argv[2];
const say = (line: string) => process.stdout.write(`${line}\n`);

// Listens like a service, which holds the process open until the stop closes it.
const server = createServer();
let finishDrain: () => void = () => undefined;

await runProcess({
  logger: createLogger({ name: 'drain', level: 'info', destination: process.stderr }),
  drainTimeoutMs: behaviour === 'hang' ? 200 : 10_000,
  async start(signal, requestStop) {
    if (behaviour === 'bad-setting') {
      throw new FatalError('PORT is "abc":\nset it to a number.', { exitCode: 2 });
    }
    if (behaviour === 'broken-start') throw new Error('redis://user:hunter2@db said no');
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    if (behaviour === 'slow-start') {
      say('starting');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return;
    }
    say('started');
    if (behaviour === 'throw') setImmediate(() => throwNow());
    if (behaviour === 'reject') void Promise.reject(new Error('nobody caught this'));
    if (behaviour === 'request') requestStop();
    if (behaviour === 'request-after-error') requestStop(new Error('watchdog'));
  },
  ...(behaviour === 'reload' && { reload: () => say('reload') }),
  async stop(reason: StopReason) {
    say(`stop ${reason}`);
    if (behaviour === 'hang' || behaviour === 'drain-until-second-signal') {
      await new Promise<void>((resolve) => {
        finishDrain = resolve;
      });
    }
    if (behaviour !== 'leak') server.close();
    if (behaviour === 'broken-stop') throw new Error('could not close');
  },
  onForcedExit() {
    say('forced');
    finishDrain();
  },
});

function throwNow(): never {
  throw new Error('sk-live0123456789 was refused');
}
