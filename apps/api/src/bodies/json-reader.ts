import {
  type InputPage,
  type PartJson,
  type PickedItem,
  type PickedPage,
  pickItems,
  pickPage,
  type PreparedRequest,
} from '@sluice/response-store';
import type { JsonThreads } from './json-threads.ts';
import { prepareBody } from './prepare-body.ts';
import { prepareFrame, type PreparedFrame } from './prepare-frame.ts';

/**
 * JSON up to this many bytes is read on the event loop: the worst of it takes some tens of milliseconds there, and what
 * is ordinary far less than a thread would need to answer.
 */
const smallJson = 64 * 1024;

/** Reads the JSON of bodies and of what is stored where it holds up nobody. Bytes of what is large are transferred. */
export class JsonReader {
  readonly #threads: Pick<JsonThreads, 'prepare' | 'prepareFrame' | 'pickItems' | 'pickPage'>;

  constructor(threads: Pick<JsonThreads, 'prepare' | 'prepareFrame' | 'pickItems' | 'pickPage'>) {
    this.#threads = threads;
  }

  /**
   * Prepares the body of a create request.
   *
   * @throws {ServiceError} that says what is wrong with the body.
   */
  prepare(
    body: Buffer<ArrayBuffer> | undefined,
    { tenant, withDigest }: { tenant: string; withDigest: boolean },
  ): PreparedRequest | Promise<PreparedRequest> {
    if (body === undefined || body.length <= smallJson) return prepareBody(body, { withDigest });
    return this.#threads.prepare(tenant, { body, withDigest });
  }

  /** Prepares a frame of a WebSocket, which must have a buffer of its own. What is wrong with it is part of the result. */
  prepareFrame(tenant: string, frame: Uint8Array<ArrayBuffer>): PreparedFrame | Promise<PreparedFrame> {
    if (frame.length <= smallJson) return prepareFrame(frame, {});
    return this.#threads.prepareFrame(tenant, frame);
  }

  /** The items of a stored part with these ids; see `pickItems`. */
  async pickItems(tenant: string, part: PartJson, itemIds: readonly string[]): Promise<PickedItem[]> {
    if (part.json.length <= smallJson) return pickItems(part, itemIds);
    return this.#threads.pickItems(tenant, part, itemIds);
  }

  /** A page of a stored input; see `pickPage`. */
  async pickPage(tenant: string, part: PartJson, page: InputPage): Promise<PickedPage | undefined> {
    if (part.json.length <= smallJson) return pickPage(part, page);
    return this.#threads.pickPage(tenant, part, page);
  }
}
