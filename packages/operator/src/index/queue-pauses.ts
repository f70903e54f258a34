import type { JournalLine } from '@sluice/journal';

/** Changes that are remembered of one queue, and queues. */
const mostChanges = 100;
const mostQueues = 10_000;

/** When queues were paused and went on, as far as the journal tells. */
export class QueuePauses {
  /** By queue, when each change was, in the order of time. */
  readonly #changes = new Map<string, { at: number; isPaused: boolean }[]>();

  take(queue: string, lines: readonly JournalLine[]): void {
    const changes = this.#changes.get(queue) ?? [];
    for (const line of lines) {
      if (line.what === 'paused') changes.push({ at: line.at, isPaused: line.isPaused });
    }
    changes.sort((one, other) => one.at - other.at);
    if (changes.length > mostChanges) changes.splice(0, changes.length - mostChanges);
    if (this.#changes.has(queue) || this.#changes.size < mostQueues) this.#changes.set(queue, changes);
  }

  /** The pauses of a queue, oldest first. The last one has no end while it lasts. */
  of(queue: string): { from: number; to: number | null }[] {
    const pauses: { from: number; to: number | null }[] = [];
    for (const { at, isPaused } of this.#changes.get(queue) ?? []) {
      const last = pauses.at(-1);
      const isOn = last !== undefined && last.to === null;
      if (isPaused && !isOn) pauses.push({ from: at, to: null });
      else if (!isPaused && isOn) last.to = at;
    }
    return pauses;
  }
}
