import { ServiceError } from '@sluice/contract';
import type { Act } from '@sluice/contract/admin';
import type { ActStore } from './act-store.ts';
import { isRedisUnavailable, loggedError, type Logger, pause } from '@sluice/runtime';
import { ActReports } from './act-reports.ts';
import type { BulkWork } from './bulk-work.ts';

export interface BulkRunOptions {
  store: Pick<ActStore, 'report' | 'leaseMs'>;
  work: BulkWork;
  act: Act;
  now: () => number;
  logger: Logger;
  /** How often the progress is written, which is also how often the act learns that it is to stop; half a second by default. */
  reportEveryMs?: number | undefined;
}

/** Responses that are handled at a time. */
const atATime = 8;

const defaultReportEveryMs = 500;

/** How often a response is tried for which Redis or the service is too busy. */
const mostTries = 3;

/** Most error codes that an act names. */
const mostCodes = 5;

/**
 * One act on many responses, from its first report to its last.
 *
 * It goes on only while Redis takes its reports. So it waits out an outage, and stops when another act has taken its lease meanwhile.
 * It handles each response once, and never more of them than were confirmed.
 */
export class BulkRun {
  readonly #options: BulkRunOptions;
  readonly act: Act;
  readonly #reports: ActReports;
  readonly #codes = new Map<string, number>();
  readonly #interrupted = new AbortController();
  /** When the next may be begun, by the clock of this process; in the past when it may be at once. */
  #nextAt = 0;

  constructor(options: BulkRunOptions) {
    this.#options = options;
    this.act = { ...options.act };
    this.#reports = new ActReports({
      store: options.store,
      act: this.act,
      everyMs: options.reportEveryMs ?? defaultReportEveryMs,
      signal: this.#interrupted.signal,
      logger: options.logger,
    });
  }

  /** Ends it before its next response. */
  interrupt(): void {
    this.#interrupted.abort(new Error('The process stops'));
  }

  /** Runs it to its end, and returns it as it was reported last. Never rejects. */
  async run(): Promise<Act> {
    this.#reports.start();
    let state: Act['state'] | 'lost';
    try {
      state = await this.#doAll();
    } catch (error) {
      this.#options.logger.error({ err: loggedError(error), actId: this.act.id }, 'act on many failed');
      this.act.error ??= codeOf(error);
      state = 'failed';
    }
    if (state === 'lost') {
      await this.#reports.stop();
      return { ...this.act, state: 'interrupted' };
    }
    this.act.state = state;
    this.act.ended_at = this.#options.now();
    await this.#reports.end();
    return this.act;
  }

  async #doAll(): Promise<'done' | 'stopped' | 'interrupted' | 'lost'> {
    const { work } = this.#options;
    const most = work.most ?? Number.POSITIVE_INFINITY;
    const seen = new Set<string>();
    for await (const batch of work.ids()) {
      const fresh = batch.filter((id) => !seen.has(id));
      for (let at = 0; at < fresh.length; at += atATime) {
        if (seen.size >= most) return 'done';
        const ids = fresh.slice(at, at + Math.min(atATime, most - seen.size));
        for (const id of ids) seen.add(id);
        await this.#untilNext();
        const word = await this.#reports.mayGoOn();
        if (word !== 'go_on') return word;
        this.#noteBegun(ids.length);
        await Promise.all(ids.map((id) => this.#doOne(id)));
      }
    }
    return 'done';
  }

  async #doOne(responseId: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        if (await this.#options.work.each(responseId)) this.act.done += 1;
        else this.act.skipped += 1;
        break;
      } catch (error) {
        if (tries < mostTries && mayPass(error) && (await this.#reports.afterNext()) === 'go_on') continue;
        this.act.failed += 1;
        this.#note(codeOf(error));
        break;
      }
    }
    this.act.total = Math.max(this.act.total, this.act.done + this.act.skipped + this.act.failed);
  }

  /** Waits until the next may be begun. */
  async #untilNext(): Promise<void> {
    const waitMs = this.#nextAt - performance.now();
    if (waitMs > 0) await pause(waitMs, this.#interrupted.signal);
  }

  /** Says when the next may be begun. What was not begun in an outage is not made up for: everything would come at once. */
  #noteBegun(count: number): void {
    const { perSecond } = this.#options.work;
    if (perSecond === undefined) return;
    this.#nextAt = Math.max(this.#nextAt, performance.now()) + (count * 1000) / perSecond;
  }

  #note(code: string): void {
    if (this.#codes.size >= mostCodes && !this.#codes.has(code)) return;
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    const counted = [...this.#codes].toSorted(([, one], [, other]) => other - one);
    this.act.error = counted.map(([each, count]) => `${count} ${each}`).join(', ');
  }
}

/** Whether another try may succeed in a moment. */
function mayPass(error: unknown): boolean {
  return (
    isRedisUnavailable(error) || (error instanceof ServiceError && error.code === 'server_is_overloaded')
  );
}

function codeOf(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  return isRedisUnavailable(error) ? 'server_is_overloaded' : 'server_error';
}
