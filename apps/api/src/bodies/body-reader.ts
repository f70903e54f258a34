import type { PreparedRequest } from '@sluice/response-store';
import type { BodyThreads } from './body-threads.ts';
import { prepareBody } from './prepare-body.ts';

/**
 * Bodies up to this many bytes are prepared on the event loop: the worst of them takes some tens of milliseconds there,
 * and an ordinary one far less than a thread would need to answer.
 */
const smallBody = 64 * 1024;

/** Prepares the body of a create request where it holds up nobody. */
export class BodyReader {
  readonly #threads: Pick<BodyThreads, 'prepare'>;

  constructor(threads: Pick<BodyThreads, 'prepare'>) {
    this.#threads = threads;
  }

  /**
   * Bytes of a large body are transferred: the caller has none of them afterwards.
   *
   * @throws {ServiceError} that says what is wrong with the body.
   */
  prepare(
    body: Buffer<ArrayBuffer> | undefined,
    { tenant, withDigest }: { tenant: string; withDigest: boolean },
  ): PreparedRequest | Promise<PreparedRequest> {
    if (body === undefined || body.length <= smallBody) return prepareBody(body, { withDigest });
    return this.#threads.prepare(tenant, { body, withDigest });
  }
}
