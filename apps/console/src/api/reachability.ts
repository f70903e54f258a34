/** Whether the service answered the last request of this page, for the shell. */
export class Reachability {
  #answers = true;
  readonly #listeners = new Set<() => void>();

  get answers(): boolean {
    return this.#answers;
  }

  set(answers: boolean): void {
    if (answers === this.#answers) return;
    this.#answers = answers;
    for (const listener of this.#listeners) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const reachability = new Reachability();
