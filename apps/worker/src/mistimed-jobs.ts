import type { Mistimed } from '@sluice/queue';

/**
 * The jobs that wait for the wrong time, as the passes of the rescue have seen them. A job is moved when it has waited for as long as it was to
 * wait since it was first seen, by the store's clock alone: a worker with a wrong clock has no shorter pauses than others.
 */
export class MistimedJobs {
  /** The jobs of the last pass and of this one, by id: the time for which a job waits, and when it was first seen to wait for that. */
  #before = new Map<string, { dueAt: number; since: number }>();
  #seen = new Map<string, { dueAt: number; since: number }>();

  /** Whether a job has waited for as long as it was to wait. `now`: by the store's clock, in milliseconds. */
  isOver(responseId: string, { dueAt, delayMs }: Mistimed, now: number): boolean {
    const before = this.#before.get(responseId);
    const since = before?.dueAt === dueAt ? before.since : now;
    this.#seen.set(responseId, { dueAt, since });
    return before?.dueAt === dueAt && now - since >= delayMs;
  }

  /** Forgets those that this pass has not seen. */
  endPass(): void {
    this.#before = this.#seen;
    this.#seen = new Map();
  }

  startOver(): void {
    this.#before.clear();
    this.#seen.clear();
  }
}
