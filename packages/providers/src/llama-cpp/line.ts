interface Waiting {
  begin: () => void;
}

/** Lets a number of callers through at a time. Others wait, and are served in order. */
export class Line {
  #free: number;
  readonly #waiting: Waiting[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Resolves with the function that gives the place back, which may be called twice. Rejects with the signal's reason
   * when it aborts before that.
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const next = this.#waiting.shift();
      if (next) next.begin();
      else this.#free += 1;
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        begin: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
