import { type Patch, patchedBuild } from '@sluice/testing';
import { startMatrix } from './run-matrix.ts';

/** A mechanism that is switched off in a copy of the sources, and the cells that must fail then. */
export interface Mutant {
  /** What is missing. */
  name: string;
  patch: Patch;
  /** Cells of the matrix whose name contains this. At least one of them, or what is looked at beside them, must fail. */
  only: string;
  /** Responses in each of these cells. */
  tries: number;
}

const store = 'packages/response-store';

/** Mechanisms by which faults are survived. */
export const mutants: readonly Mutant[] = [
  {
    name: 'a response whose output was seen runs again',
    patch: {
      file: `${store}/src/transitions/claim.lua`,
      find: 'elseif f.stream and (f.shown or seq > (was_queued and 1 or 2)) then',
      replace: 'elseif false then',
    },
    only: 'worker killed / in the middle',
    tries: 1,
  },
  {
    name: 'a claim does not ask whether the worker of a response lives',
    patch: {
      file: `${store}/src/transitions/claim.lua`,
      find: "then return { 'held' } end",
      replace: 'then end',
    },
    only: 'Redis frozen for longer than a lock / running',
    tries: 8,
  },
  {
    name: 'nobody looks whether the caller of a response is gone',
    patch: {
      file: `${store}/src/fragments/absence.lua`,
      find: 'return now - since >= grace',
      replace: 'return false',
    },
    only: 'api killed / running without output / synchronous',
    tries: 1,
  },
  {
    name: 'what was accepted without a reply is not taken back',
    patch: {
      file: 'apps/api/src/responses/accept-response.ts',
      find: 'this.#ends.abandon(responseId, this.#dependencies.now(responseId) + acceptWithinMs);',
      replace: '',
    },
    only: 'path to Redis silent / queued / background',
    tries: 1,
  },
  {
    name: 'nobody rescues what nobody looks after',
    patch: { file: 'apps/worker/src/rescue-schedule.ts', find: 'await rescue.round();', replace: '' },
    only: 'api killed / queued / synchronous',
    tries: 1,
  },
  {
    name: 'an append without an answer is not repeated',
    patch: { file: `${store}/src/event-writer.ts`, find: 'if (signal.aborted)', replace: '' },
    only: 'Redis killed and restarted / in the middle / stream',
    tries: 2,
  },
  {
    name: 'a reader never looks into the log',
    patch: {
      file: `${store}/src/delivery/subscription.ts`,
      find: 'if (!this.#mustRead)',
      replace: 'if (true)',
    },
    only: 'subscriber connections cut / in the middle / stream',
    tries: 4,
  },
  {
    name: 'a refused or broken call is not followed by another',
    patch: {
      file: 'apps/worker/src/attempt.ts',
      find: 'return this.record.attempt < this.record.maxAttempts;',
      replace: 'return false;',
    },
    only: 'upstream cut / running without output',
    tries: 1,
  },
  {
    name: 'a worker that stops does not finish what it runs',
    patch: {
      file: 'apps/worker/src/worker-process.ts',
      find: 'setTimeout(() => this.#interruptAll(), graceMs)',
      replace: 'setTimeout(() => this.#interruptAll(), 0)',
    },
    only: 'worker stopped with SIGTERM / in the middle',
    tries: 1,
  },
];

/** Nobody waits long for what cannot come, in milliseconds. */
const patienceMs = 20_000;

export interface MutantResult {
  mutant: Mutant;
  /** Names of the cells that failed, and the first problem of each. Empty: nobody noticed. */
  failed: string[];
}

/** Runs the cells of a mutant. The copy of the build is gone when it settles. */
export async function runMutant(mutant: Mutant, seed: number): Promise<MutantResult> {
  await using build = await patchedBuild([mutant.patch]);
  const failed: string[] = [];
  const { rounds, done } = startMatrix({
    only: mutant.only,
    tries: mutant.tries,
    seed,
    lanes: 1,
    patienceMs,
    root: build.root,
  });
  // A site that falls to pieces is noticed, too.
  await done.catch((error: unknown) => failed.push(`the round: ${String(error)}`));
  for (const round of rounds.values()) {
    for (const { name, problems } of await round.catch(() => [])) {
      if (problems[0] !== undefined) failed.push(`${name}: ${problems[0]}`);
    }
  }
  return { mutant, failed };
}
