import { randomUUID } from 'node:crypto';
import { ServiceError } from '@sluice/contract';
import type { Act } from '@sluice/contract/admin';
import type { Logger } from '@sluice/runtime';
import { type AskedAct, type Asker, type Audit, type Conclude, failureOf } from '../audit/audit.ts';
import type { ActStore } from './act-store.ts';
import { BulkRun, type BulkRunOptions } from './bulk-run.ts';
import type { BulkWork } from './bulk-work.ts';

export interface BulkActsOptions extends Pick<BulkRunOptions, 'reportEveryMs'> {
  store: Pick<ActStore, 'begin' | 'isBusy' | 'report' | 'askToStop' | 'read' | 'list' | 'leaseMs'>;
  audit: Pick<Audit, 'ask' | 'perform'>;
  /** The store's clock, in milliseconds. */
  now: () => number;
  logger: Logger;
}

/**
 * Acts on many responses at once: one act at a time over the whole service, in the process that was asked. Its progress is in
 * Redis, so any process can say how far it is, and ask it to stop.
 *
 * An act does not outlive its process. It is then shown as interrupted, and can be begun again: what was done stays done, and
 * no longer matches.
 */
export class BulkActs {
  readonly #options: BulkActsOptions;
  readonly #running = new Set<{ run: BulkRun; over: Promise<void> }>();
  #isStopping = false;

  constructor(options: BulkActsOptions) {
    this.#options = options;
  }

  /**
   * Begins an act, and answers with it at once. `workOf` is called once the audit log has that the act is asked for; the log is
   * told how it ended.
   *
   * @throws {ServiceError} `act_under_way` while there is another one.
   */
  async start(asked: AskedAct, workOf: () => Promise<BulkWork>): Promise<Act> {
    const conclude = await this.#options.audit.ask(asked);
    try {
      return await this.#begin(await workOf(), conclude);
    } catch (error) {
      await conclude(...failureOf(error));
      throw error;
    }
  }

  /**
   * For a change that is to be followed by an act, before it is made. Another act may still begin in between.
   *
   * @throws {ServiceError} `act_under_way` while there is one.
   */
  async requireNone(): Promise<void> {
    if (await this.#options.store.isBusy()) throw new ServiceError('act_under_way');
  }

  list(): Promise<Act[]> {
    return this.#options.store.list();
  }

  /** @throws {ServiceError} `not_found` for one that is unknown, or long over. */
  async read(id: string): Promise<Act> {
    const act = isActId(id) ? await this.#options.store.read(id) : undefined;
    if (!act) throw actNotFound();
    return act;
  }

  /** Asks an act to stop, wherever it runs. It stops within a second; one that is over stays as it is. */
  askToStop(id: string, asker: Asker): Promise<Act> {
    return this.#options.audit.perform({ action: 'act.stop', target: id, ...asker }, async () => {
      if (!isActId(id) || !(await this.#options.store.askToStop(id))) throw actNotFound();
      return this.read(id);
    });
  }

  /** Ends the acts of this process, as interrupted. Twice is fine. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const running = [...this.#running];
    for (const { run } of running) run.interrupt();
    await Promise.all(running.map(({ over }) => over));
  }

  async #begin(work: BulkWork, conclude: Conclude): Promise<Act> {
    const { store, now } = this.#options;
    if (this.#isStopping) throw new ServiceError('server_is_overloaded');
    const act: Act = {
      id: `act_${randomUUID().replaceAll('-', '')}`,
      object: 'act',
      action: work.action,
      target: work.target,
      state: 'running',
      total: work.total,
      done: 0,
      skipped: 0,
      failed: 0,
      error: null,
      started_at: now(),
      ended_at: null,
    };
    if ((await store.begin(act)) !== act.id) throw new ServiceError('act_under_way');
    const run = new BulkRun({ ...this.#options, act, work });
    const over = run
      .run()
      .then((ended) => conclude(ended.state === 'failed' ? 'failed' : 'done', summaryOf(ended)));
    const entry = { run, over };
    this.#running.add(entry);
    void over.finally(() => this.#running.delete(entry));
    return { ...act };
  }
}

function isActId(id: string): boolean {
  return /^act_[0-9a-f]{32}$/.test(id);
}

function actNotFound(): ServiceError {
  return new ServiceError('not_found', 'There is no act with this id.', { param: 'id' });
}

function summaryOf({ id, state, done, skipped, failed, error }: Act): string {
  const counts = `${done} done, ${skipped} skipped, ${failed} failed`;
  return `${id} ${state}: ${counts}${error === null ? '' : ` (${error})`}`;
}
