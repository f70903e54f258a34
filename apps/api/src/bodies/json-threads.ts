import { ThreadPool, type ThreadPoolOptions } from '@sluice/admission';
import type { ParsedLine } from '@sluice/batches';
import { type HostedToolsOfModels, type LineEndpoint, ServiceError } from '@sluice/contract';
import type { InputPage, PartJson, PickedItem, PickedPage } from '@sluice/response-store';
import type { PreparedBody } from './prepare-body.ts';
import { startThread } from '@sluice/runtime';
import type { SealingKey } from '@sluice/response-store/sealed-content';
import type { Sealing } from './open-sealed.ts';
import type { PreparedFrame } from './prepare-frame.ts';
import type { JsonResult, JsonTask, JsonTaskResults } from './json-thread.ts';
import type { PromptJson, TokenCount } from '../tokens/count-prompt.ts';
import type { BodyForm } from './prepare-body.ts';

/** A task may take 10 s by default. */
export interface JsonThreadsOptions
  extends Pick<ThreadPoolOptions, 'onError'>,
    Partial<Pick<ThreadPoolOptions, 'threads' | 'withinMs' | 'idleMs'>> {
  /** Most bytes of a body, at this moment. */
  bodyBytes: () => number;
  /** The module of the thread. */
  module?: URL;
}

const MIB = 1024 * 1024;

/** Heap of a thread besides what grows with its JSON: modules, and values of 50,000 members. */
const ownHeapMib = 96;

/** Takes large JSON apart beside the event loop, bodies of requests and stored values, in threads. */
export class JsonThreads {
  readonly #pool: ThreadPool<JsonTask, JsonResult>;
  readonly #onTimeout: () => void;

  constructor({ bodyBytes, module, withinMs = 10_000, ...options }: JsonThreadsOptions) {
    const source = module ?? new URL('./json-thread.ts', import.meta.url);
    this.#pool = new ThreadPool({
      ...options,
      withinMs,
      // A body is a text and a value at a time, each with two bytes a character at most.
      heapMib: () => ownHeapMib + Math.ceil((3 * bodyBytes()) / MIB),
      start: (resourceLimits) => startThread(source, { name: 'json', resourceLimits }),
    });
    this.#onTimeout = () => options.onError(new Error(`JSON was not read within ${withinMs} ms`));
  }

  /**
   * Prepares a body. Its bytes are transferred: the caller has none of them afterwards.
   *
   * @throws {ServiceError} that says what is wrong with the body, or that it could not be read.
   */
  prepare(
    tenant: string,
    {
      body,
      ...options
    }: {
      body: Uint8Array<ArrayBuffer>;
      withDigest: boolean;
      form: BodyForm;
      inBackground?: boolean;
      hostedTools?: HostedToolsOfModels | undefined;
      keys: readonly SealingKey[];
    },
  ): Promise<PreparedBody> {
    const { keys, ...rest } = options;
    return this.#do(tenant, { kind: 'prepare', body, ...rest, sealing: { tenant, keys } }, body);
  }

  /** Prepares a frame. Its bytes are transferred. What is wrong with it is part of the result. */
  prepareFrame(
    body: Uint8Array<ArrayBuffer>,
    options: { sealing: Sealing; hostedTools?: HostedToolsOfModels | undefined },
  ): Promise<PreparedFrame> {
    return this.#do(options.sealing.tenant, { kind: 'prepare_frame', body, ...options }, body);
  }

  /** Reads a line of a batch. Its bytes, which must have a buffer of their own, are transferred. */
  readLine(
    tenant: string,
    line: { number: number; text: Uint8Array<ArrayBuffer>; endpoint: LineEndpoint },
  ): Promise<ParsedLine> {
    return this.#do(tenant, { kind: 'read_line', ...line }, line.text);
  }

  /** The lines of a batch of messages; see `readMessages`. The bytes of the body are transferred. */
  readMessages(tenant: string, body: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    return this.#do(tenant, { kind: 'read_messages', body }, body);
  }

  /** The items of a stored part with these ids; see `pickItems`. Bytes of the part are transferred. */
  pickItems(tenant: string, part: PartJson, itemIds: readonly string[]): Promise<PickedItem[]> {
    return this.#do(tenant, { kind: 'pick_items', part, itemIds }, part.json);
  }

  /** A page of a stored input; see `pickPage`. Bytes of the part are transferred. */
  pickPage(tenant: string, part: PartJson, page: InputPage): Promise<PickedPage | undefined> {
    return this.#do(tenant, { kind: 'pick_page', part, page }, part.json);
  }

  /** The user's messages of a stored input; see `pickUserMessages`. Bytes of the part are transferred. */
  pickUserMessages(tenant: string, part: PartJson, without: number): Promise<PickedItem[]> {
    return this.#do(tenant, { kind: 'pick_user_messages', part, without }, part.json);
  }

  /** The tokens of a prompt; see `countPrompt`. Bytes of its input are transferred. */
  countTokens(tenant: string, prompt: PromptJson, keys: readonly SealingKey[]): Promise<TokenCount> {
    return this.#do(tenant, { kind: 'count_tokens', prompt, sealing: { tenant, keys } }, prompt.input);
  }

  /** Ends every thread. Tasks that run or wait are refused. */
  stop(): Promise<void> {
    return this.#pool.stop();
  }

  async #do<Task extends JsonTask>(
    tenant: string,
    task: Task,
    json: string | Uint8Array<ArrayBuffer>,
  ): Promise<JsonTaskResults[Task['kind']]> {
    const end = await this.#pool.run(tenant, task, {
      transfer: typeof json === 'string' ? [] : [json.buffer],
    });
    if (end.kind === 'timed_out') this.#onTimeout();
    if (end.kind !== 'done') throw end.kind === 'out_of_memory' ? tooLarge() : unreadable();
    const { result } = end;
    switch (result.kind) {
      case 'done':
        // A thread answers a task with its kind of result.
        return result.value as JsonTaskResults[Task['kind']];
      case 'refused':
        throw new ServiceError(result.code, result.message, { param: result.param });
      case 'failed':
        throw result.error;
    }
  }
}

function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The request takes too much memory to read.');
}

function unreadable(): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server could not read the request in time.');
}
