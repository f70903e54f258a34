import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

type Ending = { close(): unknown } | { stop(): unknown };

/**
 * Makes something before each test of a file or a `describe`, and closes or stops it after the test. What it gives stands
 * for the one of the test that runs.
 */
export function forEachTest<Made extends Ending>(make: () => Promise<Made>): Made {
  return standIn(make, { before: beforeEach, after: afterEach });
}

/** Makes something before all tests of a file or a `describe`, and closes or stops it after them. */
export function forAllTests<Made extends Ending>(make: () => Promise<Made>): Made {
  return standIn(make, { before: beforeAll, after: afterAll });
}

interface Hooks {
  before: (act: () => Promise<void>) => void;
  after: (act: () => unknown) => void;
}

function standIn<Made extends Ending>(make: () => Promise<Made>, { before, after }: Hooks): Made {
  let made: Made | undefined;
  before(async () => {
    made = await make();
  });
  after(() => made && ('close' in made ? made.close() : made.stop()));
  const members: ProxyHandler<Made> = {
    get: (_nothing, name) => {
      if (!made) throw new Error(`${String(name)} was asked for before the first test`);
      const member: unknown = Reflect.get(made, name);
      return typeof member === 'function' ? (member.bind(made) as unknown) : member;
    },
  };
  return new Proxy<Made>(Object.create(null) as Made, members);
}
