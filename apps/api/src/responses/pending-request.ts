import { dropLongMembers, type PreparedRequest, type StoredRequest } from '@sluice/response-store';

/**
 * A request on its way to its accept. Its input can be large, and its caller can wait for minutes after the accept. `take`
 * hands the input over, and `dropLongMembers` drops long instructions and tools, so that nothing keeps them in memory for as
 * long as the caller waits.
 */
export class PendingRequest {
  /** The request without its input; its short members alone after `dropLongMembers`. */
  readonly request: StoredRequest;
  #prepared: PreparedRequest | undefined;

  constructor(prepared: PreparedRequest) {
    this.request = prepared.request;
    this.#prepared = prepared;
  }

  /** Drops every member of the request that may be long. */
  dropLongMembers(): void {
    dropLongMembers(this.request);
  }

  /** The whole request, once. */
  take(): PreparedRequest {
    const prepared = this.#prepared;
    if (!prepared) throw new TypeError('The request was taken before');
    this.#prepared = undefined;
    return prepared;
  }
}
