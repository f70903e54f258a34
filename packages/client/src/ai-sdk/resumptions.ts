/** A chat that is resumed, from its beginning until nobody reads its response any more. */
export interface Resumption {
  readonly chatId: string;
  /** Its place among all of them. */
  readonly number: number;
  /** The response that it reads; undefined until the storage has told it. */
  responseId: string | undefined;
}

/**
 * The resumptions that are under way. A chat that is resumed aborts the reading before, as one that is stopped does, and asks for the
 * next one at once: the effects of a page in React's strict mode run twice. A page may make a transport each time that it renders, so
 * those of all transports are kept together.
 */
export class Resumptions {
  readonly #underWay = new Set<Resumption>();
  #begun = 0;

  /** How many have begun so far: the number of the last one. */
  get begun(): number {
    return this.#begun;
  }

  begin(chatId: string): Resumption {
    this.#begun += 1;
    const resumption: Resumption = { chatId, number: this.#begun, responseId: undefined };
    this.#underWay.add(resumption);
    return resumption;
  }

  /** It has found nothing, has failed, or is read no more. Safe to call twice. */
  end(resumption: Resumption): void {
    this.#underWay.delete(resumption);
  }

  /** Whether a later one than that of a number reads a response, or may yet find that it is to be read. */
  hasTakenOver(chatId: string, responseId: string, number: number): boolean {
    return [...this.#underWay].some(
      (each) =>
        each.number > number &&
        each.chatId === chatId &&
        (each.responseId === undefined || each.responseId === responseId),
    );
  }
}
