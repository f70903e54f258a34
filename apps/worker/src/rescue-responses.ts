import { type FailureCode, cancelled, failed, nothingProduced } from '@sluice/contract';
import type { Mistimed } from '@sluice/queue';
import type { Finding } from '@sluice/response-store';
import { failureOf } from './failure.ts';
import { MistimedJobs } from './mistimed-jobs.ts';

/** Responses looked at by one script: about a millisecond of everybody's time. */
const pageSize = 500;

/** Pages of one round. A round every few seconds keeps the cost bounded whatever waits. */
const pagesPerRound = 10;

/** Responses that run are the most, so their jobs are looked for in one pass of so many. */
const passesPerLookAtHeld = 2;

/** The job of an accepted response is normally added within milliseconds. After this long its api is gone. */
const unqueuedGraceMs = 15_000;

export interface RescueDependencies {
  /** A page of the responses without an end. */
  survey: (offset: number, count: number) => Promise<Finding[]>;
  /** Responses whose time has run out. */
  surveyDue: (count: number) => Promise<Finding[]>;
  /** Counts the waiting responses anew; false when that has to wait. */
  recount: () => Promise<boolean>;
  /** Writes the end of a response that nobody runs; a no-op when somebody does by now. */
  endQueued: (responseId: string, end: ReturnType<typeof cancelled>) => Promise<void>;
  /** Claims a response that is in progress and writes its end, unless it turns out that it may go on. */
  endRunning: (responseId: string) => Promise<void>;
  queue: {
    isPending(queue: string, responseId: string): Promise<boolean>;
    mistimed(queue: string, responseId: string, now: number): Promise<Mistimed | undefined>;
    letIn(queue: string, responseId: string, priority: number): Promise<void>;
    enqueueAgain(queue: string, responseId: string, priority: number): Promise<void>;
    remove(queue: string, responseId: string): Promise<void>;
    isDeferred(queue: string, responseId: string): Promise<boolean>;
  };
  /** The store's clock, in milliseconds. */
  storeNow: () => number;
  /** The priority that the job of a response has. */
  priorityOf: (responseId: string) => Promise<number>;
  /** Lets a response wait for a place of its tenant, or go into its queue. False when it has ended. */
  standInLine: (responseId: string) => Promise<boolean>;
  /** Queues that have gone far enough to be renumbered. */
  farQueues: () => Promise<readonly string[]>;
  /** Keeps the priorities of a queue below their end; true as long as there is more to do. */
  renumber: (queue: string) => Promise<boolean>;
  logger: { warn(fields: object, message: string): void };
}

/** Responses that are due are ended in pages of this size, so that a mass of them holds up nobody. */
const duePageSize = 100;

/** Findings that end at once when the time of a response is up. Any other waits for the round, which looks twice. */
const endedByTime: ReadonlySet<Finding['kind']> = new Set([
  'vanished',
  'cancelled',
  'expired',
  'overdue',
] satisfies Finding['kind'][]);

/** The result for a finding. Unless it is `gone` or `ended`, the response is still among the open ones. */
type Moved = 'gone' | 'ended' | 'added' | 'left';

/**
 * Looks through the responses without an end for those that no process will end any more. One process does it at
 * a time, the one that holds the lease of the rescue; doing it twice changes nothing.
 *
 * - in the background and its job was never added: nobody was told that it was accepted, so it is abandoned
 * - queued, and its caller left or its time ran out: it ends without a run
 * - queued or in progress, and its job is gone or finished: the job is added again, and the claim decides
 * - in progress in a worker that lives, and its job is gone: that worker may have left it, because a failover lost its last claim. The job
 *   is added again, and brings the response to that worker, which alone may claim it
 * - queued or in progress, and its job waits for a time that a wrong clock has set or does not see: it goes into its queue
 * - in progress, and cancelled or out of time, while nobody ends it: it is claimed and ended here
 * - let into its queue, or accepted to wait outside of it, and its job was moved by nobody: it is let in, or put in line
 *
 * A queued one without a job must have been found so in two passes, and so must one that runs. After an outage its api may be about to take
 * back what it has refused already, and that must not run. So must a cancelled one: its worker needs a moment to end it.
 */
export class Rescue {
  readonly #dependencies: RescueDependencies;
  #offset = 0;
  /** Findings of the last pass, and of this one, that need a second look. */
  #suspects = new Set<string>();
  #seen = new Set<string>();
  readonly #mistimed = new MistimedJobs();
  #passes = 0;
  /** Whether a record has vanished without its counts. */
  #mustRecount = false;
  #isStopping = false;

  constructor(dependencies: RescueDependencies) {
    this.#dependencies = dependencies;
  }

  /** Ends what has waited, or run, for as long as it may. Returns how many it moved. */
  async due(): Promise<number> {
    let moved = 0;
    while (!this.#isStopping) {
      const findings = await this.#dependencies.surveyDue(duePageSize);
      const results = await Promise.all(
        findings.filter(({ kind }) => endedByTime.has(kind)).map((finding) => this.#tryToMove(finding)),
      );
      moved += results.filter((result) => result === 'ended').length;
      if (findings.length < duePageSize) break;
    }
    return moved;
  }

  /** Goes on over the open responses, to the last of them at most. Returns how many it moved. */
  async round(): Promise<number> {
    let moved = 0;
    for (let page = 0; page < pagesPerRound && !this.#isStopping; page += 1) {
      const findings = await this.#dependencies.survey(this.#offset, pageSize);
      const results = await Promise.all(findings.map((finding) => this.#tryToMove(finding)));
      moved += results.filter((result) => result === 'ended' || result === 'added').length;
      // Pages go by rank, so responses that have left the set move the later ones up.
      this.#offset += results.filter((result) => result === 'left' || result === 'added').length;
      if (findings.length < pageSize) {
        await this.#endPass();
        break;
      }
    }
    return moved;
  }

  /** Keeps the order of each queue within its numbers. */
  async tend(): Promise<void> {
    for (const name of await this.#dependencies.farQueues()) {
      while (!this.#isStopping && (await this.#dependencies.renumber(name)));
    }
  }

  /** Begins from the start the next time, because another process had its turn. */
  startOver(): void {
    this.#offset = 0;
    this.#suspects.clear();
    this.#seen.clear();
    this.#mistimed.startOver();
  }

  /** Ends a round that is under way after its page. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Moves one finding. A failure must not keep the others from being moved. */
  async #tryToMove(finding: Finding): Promise<Moved> {
    try {
      return await this.#move(finding);
    } catch (error) {
      this.#dependencies.logger.warn({ responseId: finding.responseId, err: error }, 'response not rescued');
      return 'left';
    }
  }

  /** All open responses were looked at: the next pass begins with what this one found. */
  async #endPass(): Promise<void> {
    if (this.#mustRecount && (await this.#dependencies.recount())) this.#mustRecount = false;
    this.#offset = 0;
    this.#passes += 1;
    this.#suspects = this.#seen;
    this.#seen = new Set();
    this.#mistimed.endPass();
  }

  /** Whether the last pass found it, too. Notes that this one did. */
  #wasSuspect({ responseId }: Finding): boolean {
    this.#seen.add(responseId);
    return this.#suspects.has(responseId);
  }

  async #move(finding: Finding): Promise<Moved> {
    switch (finding.kind) {
      case 'gone':
        return 'gone';
      case 'unknown_version':
        return 'left';
      case 'held':
        return this.#looksForJobOf(finding) ? this.#addIfLost(finding) : 'left';
      case 'vanished':
        this.#dependencies.logger.warn({ responseId: finding.responseId }, 'record vanished without an end');
        this.#mustRecount = true;
        return 'gone';
      case 'cancelled':
        return this.#end(finding, cancelled(nothingProduced));
      case 'expired':
        return this.#end(finding, failure('timeout'));
      case 'unqueued':
        if (finding.ageMs < unqueuedGraceMs) return 'left';
        // Its api may have died after it added the job and before it put the response in line.
        return (await this.#isPending(finding))
          ? this.#putInLine(finding)
          : this.#end(finding, failure('server_error'));
      case 'queued':
        if (await this.#hasWaitedTooLong(finding)) return this.#letIn(finding);
        return this.#addIfLost(finding);
      case 'left_out':
        return this.#putInLine(finding);
      case 'overdue':
        return this.#endRunning(finding);
      case 'stopping':
        return this.#wasSuspect(finding) ? this.#endRunning(finding) : 'left';
      case 'in_progress':
        if (await this.#hasWaitedTooLong(finding)) return this.#letIn(finding);
        return (await this.#isPending(finding)) ? 'left' : this.#addAgain(finding);
    }
  }

  #looksForJobOf({ responseId }: Finding): boolean {
    return this.#passes % passesPerLookAtHeld === 0 || this.#suspects.has(responseId);
  }

  /** Acts in the second pass only. */
  async #addIfLost(finding: Finding): Promise<Moved> {
    if ((await this.#isPending(finding)) || !this.#wasSuspect(finding)) return 'left';
    return this.#addAgain(finding);
  }

  async #addAgain(finding: Finding): Promise<Moved> {
    const { logger, queue } = this.#dependencies;
    logger.warn({ responseId: finding.responseId, status: finding.kind }, 'job was lost: added again');
    const priority = await this.#dependencies.priorityOf(finding.responseId);
    await queue.enqueueAgain(finding.queue, finding.responseId, priority);
    return 'added';
  }

  /** Acts in the second pass only: another process may be about to put it in its line, or to let it in. */
  async #putInLine(finding: Finding): Promise<Moved> {
    const { logger, queue, standInLine } = this.#dependencies;
    const { responseId } = finding;
    const isDeferred = await queue.isDeferred(finding.queue, responseId);
    if (!isDeferred && (await this.#isPending(finding))) return 'left';
    if (!this.#wasSuspect(finding)) return 'left';
    if (!isDeferred) return this.#addAgain(finding);
    logger.warn({ responseId }, 'job was forgotten outside of its queue');
    if (!(await standInLine(responseId))) await queue.remove(finding.queue, responseId);
    return 'added';
  }

  async #hasWaitedTooLong({ queue, responseId }: Finding): Promise<boolean> {
    const now = this.#dependencies.storeNow();
    const mistimed = await this.#dependencies.queue.mistimed(queue, responseId, now);
    return mistimed !== undefined && this.#mistimed.isOver(responseId, mistimed, now);
  }

  async #letIn({ queue, responseId }: Finding): Promise<Moved> {
    const priority = await this.#dependencies.priorityOf(responseId);
    await this.#dependencies.queue.letIn(queue, responseId, priority);
    return 'added';
  }

  #isPending({ queue, responseId }: Finding): Promise<boolean> {
    return this.#dependencies.queue.isPending(queue, responseId);
  }

  async #end(finding: Finding, end: ReturnType<typeof cancelled>): Promise<Moved> {
    const { endQueued, queue, logger } = this.#dependencies;
    logger.warn({ responseId: finding.responseId, because: finding.kind }, 'response ended while it waited');
    await endQueued(finding.responseId, end);
    await queue.remove(finding.queue, finding.responseId);
    return 'ended';
  }

  async #endRunning({ responseId }: Finding): Promise<Moved> {
    const { endRunning, logger } = this.#dependencies;
    logger.warn({ responseId }, 'response should have ended long ago');
    await endRunning(responseId);
    return 'ended';
  }
}

function failure(code: FailureCode) {
  return failed(nothingProduced, failureOf({ requestId: '' }, code));
}
