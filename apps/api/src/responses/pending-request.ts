import { letGoOfLongMembers, type PreparedRequest, type StoredRequest } from '@sluice/response-store';

/**
 * A request on its way to its accept. Its input can be large and its caller can wait for minutes after the accept, so the
 * input is let go by being taken, and long instructions and tools by `letGo`: nothing that lives as long as the wait holds
 * them.
 */
export class PendingRequest {
  /** The request without its input; its short members alone, once the others were let go. */
  readonly request: StoredRequest;
  #prepared: PreparedRequest | undefined;

  constructor(prepared: PreparedRequest) {
    this.request = prepared.request;
    this.#prepared = prepared;
  }

  /** Lets go of what may be long in the request. */
  letGo(): void {
    letGoOfLongMembers(this.request);
  }

  /** The whole request, once. */
  take(): PreparedRequest {
    const prepared = this.#prepared;
    if (!prepared) throw new TypeError('The request was taken before');
    this.#prepared = undefined;
    return prepared;
  }
}
