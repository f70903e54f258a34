/** Completed jobs that a process keeps in a second, at the most; nobody looks at more. */
const mostPerSecond = 20;

/**
 * Chooses the completed jobs that stay for the dashboard. Keeping one costs Redis five commands, and when a hundred
 * are kept while thousands complete in a second, nobody ever sees them: so a sample stays.
 */
export class KeptSample {
  #second = Number.NaN;
  #kept = 0;

  /** Whether a job that completes now stays; `now` in milliseconds of any clock. */
  keeps(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#kept = 0;
    }
    this.#kept += 1;
    return this.#kept <= mostPerSecond;
  }
}
