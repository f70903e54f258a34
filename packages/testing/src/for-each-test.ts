import { beforeAll, beforeEach, onTestFinished } from 'vitest';

/** Something that ends when it is told so, by one of the names that this has among what tests start. */
type Ending = AsyncDisposable | { close(): unknown } | { stop(): unknown };

/**
 * Makes something before each test of a file or a `describe`, and ends it last of all that follows the test.
 * Its result stands for the one of the test that runs.
 */
export function forEachTest<Made extends Ending>(make: () => Promise<Made>): Made {
  return standIn(make, (start) => beforeEach(async () => onTestFinished(await start())));
}

/**
 * Makes something before all tests of a file or a `describe`, and ends it after them. Its result stands for it from the first test on.
 * Something of a later call is made after it, and ended before it.
 */
export function forAllTests<Made extends Ending>(make: () => Promise<Made>): Made {
  return standIn(make, beforeAll);
}

/** `schedule` has it made at some time, and ended by what it gets. */
function standIn<Made extends Ending>(
  make: () => Promise<Made>,
  schedule: (start: () => Promise<() => Promise<void>>) => void,
): Made {
  let made: Made | undefined;
  schedule(async () => {
    const started = await make();
    made = started;
    return async () => {
      await end(started);
    };
  });
  const members: ProxyHandler<Made> = {
    get: (_nothing, name) => {
      if (!made) throw new Error(`${String(name)} was asked for before the first test`);
      const member: unknown = Reflect.get(made, name);
      return typeof member === 'function' ? (member.bind(made) as unknown) : member;
    },
  };
  return new Proxy<Made>(Object.create(null) as Made, members);
}

function end(started: Ending): unknown {
  if (Symbol.asyncDispose in started) return started[Symbol.asyncDispose]();
  return 'close' in started ? started.close() : started.stop();
}
