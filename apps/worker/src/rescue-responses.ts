import { type FailureCode, cancelled, failed, nothingProduced } from '@sluice/contract';
import type { Finding } from '@sluice/event-log';
import { failureOf } from './failure.ts';

/** Responses looked at in one round. A round every few seconds keeps the cost bounded whatever waits. */
const pageSize = 500;

/** An accept and its job are normally milliseconds apart; past this the api between them is gone. */
const unqueuedGraceMs = 15_000;

export interface RescueDependencies {
  /** Takes the right to rescue for a moment; false while another process has it. */
  elect: () => Promise<boolean>;
  survey: (offset: number, count: number) => Promise<Finding[]>;
  /** Writes the end of a response that nobody runs; a no-op when somebody does by now. */
  endQueued: (responseId: string, sequenceNumber: number, end: ReturnType<typeof cancelled>) => Promise<void>;
  queue: {
    isPending(queue: string, responseId: string): Promise<boolean>;
    enqueueAgain(queue: string, responseId: string): Promise<void>;
    remove(queue: string, responseId: string): Promise<void>;
  };
  logger: { warn(fields: object, message: string): void };
}

/**
 * Looks through the responses without an end for those that no process will end any more. One process does it at
 * a time; doing it twice changes nothing.
 *
 * - in the background and its job was never added: nobody was told that it was accepted, so it is abandoned
 * - queued, and its caller left or its time ran out: it ends without a run
 * - queued or in progress, and its job is gone or finished: the job is added again, and the claim decides
 *
 * A queued one must have been found without a job twice. After an outage its api may be about to take back what
 * it has refused already, and that must not run.
 */
export class Rescue {
  readonly #dependencies: RescueDependencies;
  #offset = 0;
  /** Queued responses that had no job when they were last looked at. */
  readonly #withoutJob = new Set<string>();

  constructor(dependencies: RescueDependencies) {
    this.#dependencies = dependencies;
  }

  /** One round over a page of the open responses. Returns how many it moved. */
  async round(): Promise<number> {
    if (!(await this.#dependencies.elect())) return 0;
    const findings = await this.#dependencies.survey(this.#offset, pageSize);
    let moved = 0;
    for (const finding of findings) {
      if (await this.#move(finding)) moved += 1;
    }
    if (this.#withoutJob.size > pageSize) this.#withoutJob.clear();
    this.#offset = findings.length < pageSize ? 0 : this.#offset + findings.length;
    return moved;
  }

  async #move(finding: Finding): Promise<boolean> {
    switch (finding.kind) {
      case 'gone':
        return false;
      case 'cancelled':
        return this.#end(finding, cancelled(nothingProduced));
      case 'expired':
        return this.#end(finding, failure('timeout'));
      case 'unqueued':
        if (finding.ageMs < unqueuedGraceMs) return false;
        if (await this.#isPending(finding)) return false;
        return this.#end(finding, failure('server_error'));
      case 'queued':
        if (await this.#isPending(finding)) {
          this.#withoutJob.delete(finding.responseId);
          return false;
        }
        if (!this.#withoutJob.delete(finding.responseId)) {
          this.#withoutJob.add(finding.responseId);
          return false;
        }
        return this.#addAgain(finding);
      case 'in_progress':
        return (await this.#isPending(finding)) ? false : this.#addAgain(finding);
    }
  }

  async #addAgain(finding: Finding): Promise<boolean> {
    const { logger, queue } = this.#dependencies;
    logger.warn({ responseId: finding.responseId, status: finding.kind }, 'job was lost: added again');
    await queue.enqueueAgain(finding.queue, finding.responseId);
    return true;
  }

  #isPending({ queue, responseId }: Finding): Promise<boolean> {
    return this.#dependencies.queue.isPending(queue, responseId);
  }

  async #end(finding: Finding, end: ReturnType<typeof cancelled>): Promise<boolean> {
    const { endQueued, queue, logger } = this.#dependencies;
    logger.warn({ responseId: finding.responseId, because: finding.kind }, 'response ended while it waited');
    await endQueued(finding.responseId, finding.sequenceNumber, end);
    await queue.remove(finding.queue, finding.responseId);
    return true;
  }
}

function failure(code: FailureCode) {
  return failed(nothingProduced, failureOf({ requestId: '' }, code));
}
