import { ServiceError } from '@sluice/contract';
import type { AuditEntry } from '@sluice/contract/admin';
import { loggedError, type Logger } from '@sluice/runtime';
import type { AuditLog, AuditPage } from './audit-log.ts';

/** The operator who asks for an act. */
export type Asker = Pick<AuditEntry, 'address'>;

/** An act that an operator asks for. It names no content and no secret. */
export type AskedAct = Asker & Pick<AuditEntry, 'action' | 'target'>;

/** Says what has become of an act. Never rejects: the act is done, whatever becomes of the entry. */
export type Conclude = (outcome: Exclude<AuditEntry['outcome'], 'asked'>, detail?: string) => Promise<void>;

/** Most characters of a target, in the audit log and in the log of the process: a path can be long. */
const longestTarget = 500;

/**
 * The audit log, in Redis and as lines of the process's own log.
 *
 * It fails closed: an act is done once its entry `asked` is written. When a crash or an outage loses the entry of its outcome,
 * the first entry says that the act was asked for, and the line of the log says what became of it.
 */
export class Audit {
  readonly #log: Pick<AuditLog, 'add' | 'page'>;
  readonly #logger: Logger;

  constructor({ log, logger }: { log: Pick<AuditLog, 'add' | 'page'>; logger: Logger }) {
    this.#log = log;
    this.#logger = logger;
  }

  /** Writes that an act is asked for. Rejects when that cannot be written; the act is not to be done then. */
  async ask(given: AskedAct): Promise<Conclude> {
    const act = { ...given, target: shortened(given.target) };
    const asked = await this.#log.add({ ...act, outcome: 'asked', detail: null, asked: null });
    this.#say(asked);
    return async (outcome, detail) => {
      const entry = { ...act, outcome, detail: detail ?? null, asked: asked.id };
      this.#say({ ...entry, id: asked.id });
      try {
        await this.#log.add(entry);
      } catch (error) {
        this.#logger.error({ err: loggedError(error), auditId: asked.id }, 'outcome not in the audit log');
      }
    };
  }

  /** Does an act between its two entries. */
  async perform<Result>(
    act: AskedAct,
    run: () => Promise<Result>,
    detailOf: (result: Result) => string | undefined = () => undefined,
  ): Promise<Result> {
    const conclude = await this.ask(act);
    try {
      const result = await run();
      await conclude('done', detailOf(result));
      return result;
    } catch (error) {
      await conclude(...failureOf(error));
      throw error;
    }
  }

  /** Writes that something was refused before it was an act. Never rejects: it is refused, whatever becomes of the entry. */
  async noteRefusal(act: AskedAct, detail: string): Promise<void> {
    const entry = { ...act, outcome: 'refused', detail, asked: null } as const;
    this.#say({ ...entry, id: '' });
    try {
      await this.#log.add(entry);
    } catch (error) {
      this.#logger.error({ err: loggedError(error), action: act.action }, 'refusal not in the audit log');
    }
  }

  page(page: { before: string | undefined; limit: number }): Promise<AuditPage> {
    return this.#log.page(page);
  }

  #say({ id, action, target, address, outcome, detail }: Omit<AuditEntry, 'at' | 'asked'>): void {
    this.#logger.info({ auditId: id, action, target, address, outcome, detail }, 'operator act');
  }
}

/** A refusal is an answer; anything else went wrong. Messages may repeat what a client sent, so the code has to do. */
export function failureOf(error: unknown): ['refused' | 'failed', string] {
  if (!(error instanceof ServiceError)) return ['failed', 'server_error'];
  return [error.status < 500 ? 'refused' : 'failed', error.code];
}

function shortened(target: string): string {
  return target.length > longestTarget ? `${target.slice(0, longestTarget)}…` : target;
}
