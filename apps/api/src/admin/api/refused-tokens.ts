import type { AskedAct } from '@sluice/operator';
import type { AddressedRequest, FailedLogins } from '@sluice/runtime';

/** How long wrong tokens are counted before the next entry, in milliseconds. */
const windowMs = 600_000;

/** Clients with entries of their own in that time; the others share one. */
const mostClients = 8;

export interface RefusedTokensOptions {
  failed: Pick<FailedLogins, 'count' | 'clientOf'>;
  /** Writes an entry of the audit log. Never rejects. */
  write: (act: AskedAct, detail: string) => Promise<void>;
}

/**
 * Puts wrong action tokens into the audit log: the first of a client at once, and the number of those after it when ten minutes are over.
 * So one guess leaves an entry with its address, and a million guesses leave a few entries.
 */
export class RefusedTokens {
  readonly #options: RefusedTokensOptions;
  /** Wrong tokens since the last entry, by client. */
  readonly #more = new Map<string, number>();
  #others = 0;
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<unknown> = Promise.resolve();

  constructor(options: RefusedTokensOptions) {
    this.#options = options;
  }

  /** Counts a wrong token; see `FailedLogins`. */
  count(request: AddressedRequest): number | undefined {
    this.#note(this.#options.failed.clientOf(request));
    return this.#options.failed.count(request);
  }

  /** Writes the entries that are still due. */
  async stop(): Promise<void> {
    this.#tellRest();
    await this.#written;
  }

  #note(client: string): void {
    this.#timer ??= setTimeout(() => this.#tellRest(), windowMs).unref();
    const more = this.#more.get(client);
    if (more !== undefined) this.#more.set(client, more + 1);
    else if (this.#more.size >= mostClients) this.#others += 1;
    else {
      this.#more.set(client, 0);
      this.#tell(client, 'wrong token');
    }
  }

  #tellRest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [client, count] of this.#more) if (count > 0) this.#tell(client, `${count} more wrong tokens`);
    if (this.#others > 0) this.#tell('other addresses', `${this.#others} wrong tokens`);
    this.#more.clear();
    this.#others = 0;
  }

  #tell(address: string, detail: string): void {
    const act = { action: 'token.refused', target: 'action token', address };
    this.#written = Promise.all([this.#written, this.#options.write(act, detail)]);
  }
}
