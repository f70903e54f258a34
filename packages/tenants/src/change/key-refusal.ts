/** A problem of a key or a tenant, with its path below `keys[]` of the file. */
export interface RuleProblem {
  path: PropertyKey[];
  message: string;
}

/** Why a change of the stored keys makes no sense. Commands and the admin API put it into their own words. */
export type KeyProblem =
  /** Rules that contradict the schema, the file or other keys. */
  | { kind: 'rules'; problems: readonly RuleProblem[] }
  | { kind: 'unknown' }
  /** No stored key says anything of the tenant; keys of the file may. */
  | { kind: 'no_keys'; isInFile: boolean; file: string | undefined }
  /** It is in the settings file, which is changed there; `at` is its place. */
  | { kind: 'of_file'; at: number; file: string | undefined }
  /** What is stored under the id is no key, so it is refused already. */
  | { kind: 'unreadable' }
  | { kind: 'rotated'; successor: string }
  | { kind: 'inactive'; state: 'expired' | 'revoked' };

/** A change that was not made. `id` is that of the key which was asked for, or the name of the tenant. */
export class KeyRefusal extends Error {
  readonly id: string;
  readonly problem: KeyProblem;

  constructor(id: string, problem: KeyProblem) {
    super(`a key cannot be changed: ${problem.kind}`);
    this.name = 'KeyRefusal';
    this.id = id;
    this.problem = problem;
  }
}

/**
 * A change that Redis did not take: `contended`, nothing was changed, because others were faster again and again; `unanswered`,
 * nobody knows whether it was made.
 */
export class KeyChangeFailed extends Error {
  readonly reason: 'contended' | 'unanswered';

  constructor(reason: 'contended' | 'unanswered', cause?: unknown) {
    super(`a change of keys failed: ${reason}`, { cause });
    this.name = 'KeyChangeFailed';
    this.reason = reason;
  }
}
