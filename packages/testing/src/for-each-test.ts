import { beforeAll, beforeEach, onTestFinished } from 'vitest';

type Ending = { close(): unknown } | { stop(): unknown };

/**
 * Makes something before each test of a file or a `describe`, and closes or stops it last of all that follows the test.
 * What it gives stands for the one of the test that runs.
 */
export function forEachTest<Made extends Ending>(make: () => Promise<Made>): Made {
  return standIn(make, (start) => beforeEach(async () => onTestFinished(await start())));
}

/** Makes something before all tests of a file or a `describe`, and closes or stops it after them. */
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
      await ('close' in started ? started.close() : started.stop());
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
