import type { Response } from '@sluice/contract';
import { acceptedResponse, type CallerStores, type ResponseRecord } from '@sluice/response-store';
import { repeatUnanswered } from '@sluice/runtime';
import { responseGone } from './whole-response.ts';

/** How long a reply of the store that is missing is asked for again, in milliseconds. Whoever is to be told waits meanwhile. */
const repeatForMs = 10_000;

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

  /** The response of a short record. */
  static takenFrom(record: ResponseRecord, store: Pick<CallerStores, 'read'>): AcceptedResponse {
    return AcceptedResponse.of(acceptedResponse(record), { store, largeBytes: record.largeRequestBytes });
  }

  /**
   * It was accepted, and may have run and ended by now, so a reply that is lost is no reason to refuse it.
   *
   * @throws {ServiceError} when it is no longer there.
   */
  async whole(): Promise<Response> {
    if (this.held) return this.held;
    const giveUpAt = performance.now() + repeatForMs;
    const record = await repeatUnanswered(() => this.#store.read(this.id), { giveUpAt });
    if (!record) throw responseGone();
    return acceptedResponse(record);
  }
}
