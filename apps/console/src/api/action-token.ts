/** Why the dialog of the action token is open. */
export interface TokenQuestion {
  /** `wrong`: the token that is kept was refused. `off`: the service has none, so nothing can be changed. */
  reason: 'asked' | 'missing' | 'wrong' | 'off';
  answer: (token: string | undefined) => void;
}

const storageKey = 'sluice-action-token';

/** The name of the header that carries it. */
export const actionTokenHeader = 'sluice-action-token';

/**
 * The action token of this tab: kept in its session storage, gone with the tab. `request` opens the dialog and resolves with the
 * token that was entered; undefined when the dialog was closed.
 */
export class ActionToken {
  readonly #listeners = new Set<() => void>();
  readonly #storage: () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  #question: TokenQuestion | undefined;

  constructor(storage: () => Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>) {
    this.#storage = storage;
  }

  get value(): string | undefined {
    return this.#storage().getItem(storageKey) ?? undefined;
  }

  get question(): TokenQuestion | undefined {
    return this.#question;
  }

  set(token: string | undefined): void {
    if (token === undefined) this.#storage().removeItem(storageKey);
    else this.#storage().setItem(storageKey, token);
    this.#notify();
  }

  request(reason: TokenQuestion['reason']): Promise<string | undefined> {
    this.#question?.answer(undefined);
    return new Promise((resolve) => {
      this.#question = {
        reason,
        answer: (token) => {
          this.#question = undefined;
          if (token === undefined) this.#notify();
          else this.set(token);
          resolve(token);
        },
      };
      this.#notify();
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const actionToken = new ActionToken(() => sessionStorage);
