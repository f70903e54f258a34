import { afterAll, beforeAll } from 'vitest';

/** What ends when it is told so, by one of the names that this has among what tests start. */
type Ending = AsyncDisposable | { stop: () => Promise<unknown> } | { close: () => Promise<unknown> };

/**
 * Has something start before the tests of a file or of a `describe`, and end after them. What this returns stands for it from the
 * first test on. What a later call starts is started after it, and ended before it.
 */
export function duringTests<T extends Ending>(start: () => Promise<T>): T {
  let started: T | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started && end(started));
  return new Proxy({} as T, {
    get(_target, name) {
      if (started === undefined) throw new Error(`'${String(name)}' was asked for before the start`);
      const member: unknown = Reflect.get(started, name);
      return typeof member === 'function' ? (member.bind(started) as unknown) : member;
    },
  });
}

function end(started: Ending): PromiseLike<unknown> {
  if (Symbol.asyncDispose in started) return started[Symbol.asyncDispose]();
  return 'stop' in started ? started.stop() : started.close();
}
