import { type ParsedLine, parseLine, type RawLine } from '@sluice/batches';
import type { HostedToolsOfModels, LineEndpoint } from '@sluice/contract';
import {
  type InputPage,
  type PartJson,
  type PickedItem,
  type PickedPage,
  pickItems,
  pickPage,
  pickUserMessages,
} from '@sluice/response-store';
import type { SealingKey } from '@sluice/response-store/sealed-content';
import type { JsonThreads } from './json-threads.ts';
import type { PromptJson, TokenCount } from '../tokens/count-prompt.ts';
import { type BodyForm, prepareBody, type PreparedBody } from './prepare-body.ts';
import { prepareFrame, type PreparedFrame } from './prepare-frame.ts';
import { readMessages } from './read-messages.ts';
import { scanStructure } from './scan-structure.ts';

/**
 * JSON up to this many bytes is read on the event loop: the worst of it takes some tens of milliseconds there, and what
 * is ordinary far less than a thread would need to answer.
 */
const smallJson = 64 * 1024;

/** So is a longer body that has few members: long texts are cheap to read. A thread would take several times as much. */
const plainJson = { bytes: 256 * 1024, members: 1_024 };

export interface JsonReaderParts {
  threads: Pick<
    JsonThreads,
    'prepare' | 'prepareFrame' | 'readLine' | 'readMessages' | 'pickItems' | 'pickPage' | 'pickUserMessages'
  >;
  /** Threads of their own: counting takes longer, and no body waits for it. */
  counting: Pick<JsonThreads, 'countTokens'>;
  /** The tools that the upstreams of each model run; none by default. */
  hostedTools?: (() => HostedToolsOfModels) | undefined;
  /** Asked for with each body. */
  sealingKeys: () => readonly SealingKey[];
}

/** Reads the JSON of bodies and of what is stored where it holds up nobody. Bytes of what is large are transferred. */
export class JsonReader {
  readonly #threads: JsonReaderParts['threads'];
  readonly #counting: JsonReaderParts['counting'];
  readonly #sealingKeys: () => readonly SealingKey[];
  readonly #hostedTools: (() => HostedToolsOfModels) | undefined;

  constructor({ threads, counting, sealingKeys, hostedTools }: JsonReaderParts) {
    this.#hostedTools = hostedTools;
    this.#threads = threads;
    this.#counting = counting;
    this.#sealingKeys = sealingKeys;
  }

  /**
   * Prepares the body of a request, a create request by default.
   *
   * @throws {ServiceError} that says what is wrong with the body.
   */
  prepare(
    body: Buffer<ArrayBuffer> | undefined,
    {
      tenant,
      withDigest = false,
      form = 'create',
      inBackground = false,
    }: { tenant: string; withDigest?: boolean; form?: BodyForm; inBackground?: boolean },
  ): PreparedBody | Promise<PreparedBody> {
    const keys = this.#sealingKeys();
    const hostedTools = this.#hostedTools?.();
    if (body === undefined || isCheap(body)) {
      return prepareBody(body, { withDigest, form, hostedTools, inBackground, sealing: { tenant, keys } });
    }
    return this.#threads.prepare(tenant, { body, withDigest, form, hostedTools, inBackground, keys });
  }

  /** Counts the tokens of a prompt, always in a thread: the tokenizer alone would hold up the event loop. */
  countTokens(tenant: string, prompt: PromptJson): Promise<TokenCount> {
    return this.#counting.countTokens(tenant, prompt, this.#sealingKeys());
  }

  /** The user's messages of a stored input, but for its last `without` items; see `pickUserMessages`. */
  async pickUserMessages(tenant: string, part: PartJson, without: number): Promise<PickedItem[]> {
    if (part.json.length <= smallJson) return pickUserMessages(part, { without });
    return this.#threads.pickUserMessages(tenant, part, without);
  }

  /** Prepares a frame of a WebSocket, which must have a buffer of its own. What is wrong with it is part of the result. */
  prepareFrame(tenant: string, frame: Uint8Array<ArrayBuffer>): PreparedFrame | Promise<PreparedFrame> {
    const sealing = { tenant, keys: this.#sealingKeys() };
    const hostedTools = this.#hostedTools?.();
    if (isCheap(frame)) return prepareFrame(frame, { sealing, hostedTools });
    return this.#threads.prepareFrame(frame, { sealing, hostedTools });
  }

  /** Reads a line of a batch; see `parseLine`. */
  readLine(
    tenant: string,
    { number, text }: Omit<RawLine, 'isWhole'>,
    endpoint: LineEndpoint,
  ): ParsedLine | Promise<ParsedLine> {
    if (text === undefined || isCheap(text)) return parseLine({ number, text }, endpoint);
    return this.#threads.readLine(tenant, { number, text: new Uint8Array(text), endpoint });
  }

  /** The lines of a batch of messages, as JSON. @throws {ServiceError} that says what is wrong with the body. */
  async readMessages(
    tenant: string,
    body: Buffer<ArrayBuffer> = Buffer.from('{}'),
  ): Promise<Uint8Array<ArrayBuffer>> {
    return isCheap(body) ? readMessages(body) : this.#threads.readMessages(tenant, body);
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

/** Whether a request is read on the event loop. */
function isCheap(json: Uint8Array): boolean {
  if (json.length <= smallJson) return true;
  if (json.length > plainJson.bytes) return false;
  const scan = scanStructure(json);
  return scan.kind === 'within_limits' && scan.total <= plainJson.members;
}
