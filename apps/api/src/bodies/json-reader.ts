import {
  type InputPage,
  type PartJson,
  type PickedItem,
  type PickedPage,
  pickItems,
  pickPage,
  type PreparedRequest,
} from '@sluice/response-store';
import type { SealingKey } from '@sluice/sealed-content';
import type { JsonThreads } from './json-threads.ts';
import { prepareBody } from './prepare-body.ts';

/**
 * JSON up to this many bytes is read on the event loop: the worst of it takes some tens of milliseconds there, and what
 * is ordinary far less than a thread would need to answer.
 */
const smallJson = 64 * 1024;

/** Reads the JSON of bodies and of what is stored where it holds up nobody. Bytes of what is large are transferred. */
export class JsonReader {
  readonly #threads: Pick<JsonThreads, 'prepare' | 'pickItems' | 'pickPage'>;
  readonly #sealingKeys: () => readonly SealingKey[];

  /** `sealingKeys` are asked for with each body. */
  constructor(
    threads: Pick<JsonThreads, 'prepare' | 'pickItems' | 'pickPage'>,
    sealingKeys: () => readonly SealingKey[],
  ) {
    this.#threads = threads;
    this.#sealingKeys = sealingKeys;
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
    const keys = this.#sealingKeys();
    if (body === undefined || body.length <= smallJson) {
      return prepareBody(body, { withDigest, sealing: { tenant, keys } });
    }
    return this.#threads.prepare(tenant, { body, withDigest, keys });
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
