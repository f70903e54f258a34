import type { Response } from '@sluice/contract';
import {
  acceptedResponse,
  type CallerStores,
  dropLongMembers,
  type ResponseRecord,
} from '@sluice/response-store';
import { responseGone } from './whole-response.ts';

/**
 * The response as it was accepted, for as long as somebody waits for its end or follows it.
 *
 * It repeats what was asked for, instructions and tools included, which may be megabytes. Of a large request it holds
 * nothing, and reads it again each time that it is sent: callers may wait for long, and there may be many of them.
 */
export class AcceptedResponse {
  readonly id: string;
  /** Undefined for a large one. */
  readonly held: Response | undefined;
  /** How many bytes of a large request are read each time it is told; 0 for one that is held. */
  readonly largeBytes: number;
  readonly #store: Pick<CallerStores, 'read'>;

  private constructor(
    response: Response,
    { store, largeBytes }: { store: Pick<CallerStores, 'read'>; largeBytes: number },
  ) {
    this.id = response.id;
    this.held = largeBytes > 0 ? undefined : response;
    this.largeBytes = largeBytes;
    this.#store = store;
  }

  static of(
    response: Response,
    options: { store: Pick<CallerStores, 'read'>; largeBytes: number },
  ): AcceptedResponse {
    return new AcceptedResponse(response, options);
  }

  /** The response of a record. A large request is dropped from the record, which may be kept for long. */
  static takenFrom(record: ResponseRecord, store: Pick<CallerStores, 'read'>): AcceptedResponse {
    const accepted = acceptedResponse(record);
    const { largeRequestBytes: largeBytes } = record;
    if (largeBytes > 0) dropLongMembers(record.request);
    return AcceptedResponse.of(accepted, { store, largeBytes });
  }

  /** @throws {ServiceError} when it is no longer there. */
  async whole(): Promise<Response> {
    if (this.held) return this.held;
    const record = await this.#store.read(this.id);
    if (!record) throw responseGone();
    return acceptedResponse(record);
  }
}
