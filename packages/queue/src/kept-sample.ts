/** Most completed jobs that a process keeps in a second. Nobody looks at more. */
const mostPerSecond = 20;

/**
 * Chooses the completed jobs that stay for the dashboard. Each costs Redis five commands. When thousands complete in a second
 * nobody can look at all of them, so only a sample stays.
 */
export class KeptSample {
  #second = Number.NaN;
  #kept = 0;

  /** Whether a job that completes now stays. `now` is in milliseconds by any clock. */
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
