export const maxEventBytes = 1024 * 1024;
/** Limit of one answer with its framing; about half a million small events. */
export const maxAnswerBytes = 128 * 1024 * 1024;

export interface AnswerSizeOptions {
  /** Bytes by which an event may exceed `maxEventBytes`, because the upstream repeats parts of the request. */
  echoBytes: number;
  /** Whether closing events repeat the whole answer. They may then exceed the limit by what was received so far. */
  repeatsAnswer: boolean;
}

/** Counts the bytes of one answer, and finds the limits that it exceeds. */
export class AnswerSize {
  readonly #options: AnswerSizeOptions;
  #received = 0;
  #sinceEvent = 0;

  constructor(options: AnswerSizeOptions) {
    this.#options = options;
  }

  /** Bytes since the last whole event. They belong to an event that has only begun, or to comments. */
  get sinceEvent(): number {
    return this.#sinceEvent;
  }

  add(bytes: number): void {
    this.#received += bytes;
    this.#sinceEvent += bytes;
  }

  endEvent(): void {
    this.#sinceEvent = 0;
  }

  /** The limit that an event of this length exceeds, whole or not; undefined when it exceeds none. */
  excessOfEvent(length: number): string | undefined {
    const { echoBytes, repeatsAnswer } = this.#options;
    const limit = maxEventBytes + echoBytes + (repeatsAnswer ? this.#received - this.#sinceEvent : 0);
    return length > limit ? `an event of more than ${limit} bytes` : undefined;
  }

  /** The limit that the answer so far exceeds. */
  excess(): string | undefined {
    if (this.#received <= maxAnswerBytes + this.#options.echoBytes) return undefined;
    return `an answer of more than ${maxAnswerBytes} bytes`;
  }
}
