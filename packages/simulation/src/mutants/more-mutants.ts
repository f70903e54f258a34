import type { Patch } from '@sluice/system-tests/mutants';

/** A mechanism that is switched off. */
export interface Mutant {
  name: string;
  patch: Patch;
}

const store = 'packages/response-store/src';

/** Defects that the service has had, or could have, and that only a history shows. */
export const moreMutants: readonly Mutant[] = [
  {
    name: 'the order of a queue that begins with one that waits never expires',
    patch: {
      file: `${store}/transitions/accept.lua`,
      find: "redis.call('ZADD', fair, 'NX', 0, 'now')",
      replace: '',
    },
  },
  {
    name: 'a process of suspects fails while the store is away, and its response is blamed',
    patch: {
      file: 'apps/worker/src/attempt-runner.ts',
      find: 'await untilRedisTakes(() => this.#sealing.start(), signal);',
      replace: 'await this.#sealing.start();',
    },
  },
];
