import { TenantQueues } from '@sluice/admission';
import { type HostedToolsOfModels, ServiceError } from '@sluice/contract';
import type { InputPage, PartJson, PickedItem, PickedPage, PreparedRequest } from '@sluice/response-store';
import { startThread } from '@sluice/runtime';
import type { SealingKey } from '@sluice/response-store/sealed-content';
import type { Worker } from 'node:worker_threads';
import type { Sealing } from './open-sealed.ts';
import type { PreparedFrame } from './prepare-frame.ts';
import type { JsonResult, JsonTask, JsonTaskResults } from './json-thread.ts';
import type { PromptJson, TokenCount } from '../tokens/count-prompt.ts';
import type { BodyForm } from './prepare-body.ts';

export interface JsonThreadsOptions {
  /** Most bytes of a body, at this moment. */
  bodyBytes: () => number;
  /** Most threads at a time; a tenant has all but one of them. Two by default. */
  threads?: number;
  /** How long a thread may take for one task, in milliseconds; 10 s by default. */
  withinMs?: number;
  /** How long a thread stays with nothing to do, in milliseconds; a minute by default. */
  idleMs?: number;
  /** The module of the thread. */
  module?: URL;
  onError: (error: unknown) => void;
}

interface Waiting {
  task: JsonTask;
  /** Size of its JSON. */
  bytes: number;
  transfer: ArrayBuffer[];
  tenant: string;
  settled: PromiseWithResolvers<JsonTaskResults[JsonTask['kind']]>;
}

/** A thread, and what it works at. */
interface Thread {
  worker: Worker;
  /** Most bytes of a body when it was started, by which its heap was measured. */
  bodyBytes: number;
  waiting: Waiting | undefined;
  /** Ends it: when it takes too long, or has had nothing to do for long. */
  timer: NodeJS.Timeout | undefined;
}

const MIB = 1024 * 1024;

/** Heap of a thread besides what grows with its JSON: modules, and values of 50,000 members. */
const ownHeapMib = 96;

/** A thread that has read more ends, which gives back at once what a collection of its heap might leave. */
const lastingBytes = 4 * MIB;

/**
 * Takes large JSON apart beside the event loop, bodies of requests and what is stored, in threads that are started when
 * there is something to do.
 *
 * Tenants take turns, and none has every thread, so tasks of one tenant hold up those of another for one task at most.
 * A thread that takes too long, runs out of its heap or crashes is ended, its caller is told so, and another one takes
 * its place.
 */
export class JsonThreads {
  readonly #options: Required<JsonThreadsOptions>;
  readonly #threads = new Set<Thread>();
  readonly #waiting = new TenantQueues<Waiting>();
  #isStopped = false;

  constructor(options: JsonThreadsOptions) {
    this.#options = {
      threads: 2,
      withinMs: 10_000,
      idleMs: 60_000,
      module: new URL('./json-thread.ts', import.meta.url),
      ...options,
    };
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
      hostedTools?: HostedToolsOfModels | undefined;
      keys: readonly SealingKey[];
    },
  ): Promise<PreparedRequest> {
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

  /** Ends every thread. Tasks that are under way are refused. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, unreadable())));
    for (let next = this.#take(); next; next = this.#take()) next.settled.reject(unreadable());
  }

  #do<Task extends JsonTask>(
    tenant: string,
    task: Task,
    json: string | Uint8Array<ArrayBuffer>,
  ): Promise<JsonTaskResults[Task['kind']]> {
    if (this.#isStopped) return Promise.reject(unreadable());
    const settled = Promise.withResolvers<JsonTaskResults[JsonTask['kind']]>();
    const transfer = typeof json === 'string' ? [] : [json.buffer];
    this.#waiting.add(tenant, { task, bytes: json.length, transfer, tenant, settled });
    this.#assign();
    // A thread answers a task with its kind of result.
    return settled.promise as Promise<JsonTaskResults[Task['kind']]>;
  }

  #assign(): void {
    while (!this.#isStopped) {
      this.#endOutgrown();
      const thread = [...this.#threads].find(({ waiting }) => !waiting);
      if (!thread && this.#threads.size >= this.#options.threads) return;
      const next = this.#take();
      if (!next) return;
      this.#run(thread ?? this.#start(), next);
    }
  }

  /** Ends idle threads whose heap was measured for smaller bodies than there may be by now. */
  #endOutgrown(): void {
    for (const thread of this.#threads) {
      if (!thread.waiting && thread.bodyBytes < this.#options.bodyBytes())
        void this.#end(thread, unreadable());
    }
  }

  /** The next task of a tenant that does not have all the threads it may have. */
  #take(): Waiting | undefined {
    const most = Math.max(1, this.#options.threads - 1);
    const busy = [...this.#threads].map(({ waiting }) => waiting?.tenant);
    return this.#waiting.take((tenant) => busy.filter((each) => each === tenant).length < most);
  }

  #run(thread: Thread, next: Waiting): void {
    const { withinMs } = this.#options;
    clearTimeout(thread.timer);
    thread.waiting = next;
    thread.timer = setTimeout(() => {
      this.#options.onError(new Error(`JSON was not read within ${withinMs} ms`));
      void this.#end(thread, unreadable());
    }, withinMs);
    thread.worker.postMessage(next.task, next.transfer);
  }

  #start(): Thread {
    const { module } = this.#options;
    const bodyBytes = this.#options.bodyBytes();
    const worker = startThread(module, {
      name: 'json',
      // A body is a text and a value at a time, each with two bytes a character at most. Tight, so that what is left over
      // is collected before it adds up.
      resourceLimits: {
        maxOldGenerationSizeMb: ownHeapMib + Math.ceil((3 * bodyBytes) / MIB),
        maxYoungGenerationSizeMb: 8,
      },
    });
    const thread: Thread = { worker, bodyBytes, waiting: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on('message', (result: JsonResult) => void this.#settle(thread, result));
    worker.on('error', (error) => {
      this.#options.onError(error);
      void this.#end(thread, isOutOfMemory(error) ? tooLarge() : unreadable());
    });
    worker.on('exit', () => void this.#end(thread, unreadable()));
    return thread;
  }

  async #settle(thread: Thread, result: JsonResult): Promise<void> {
    const { waiting } = thread;
    clearTimeout(thread.timer);
    thread.waiting = undefined;
    if (waiting && waiting.bytes > lastingBytes) {
      await this.#end(thread, unreadable());
    } else {
      thread.timer = setTimeout(() => void this.#end(thread, unreadable()), this.#options.idleMs);
      this.#assign();
    }
    switch (result.kind) {
      case 'done':
        waiting?.settled.resolve(result.value);
        break;
      case 'refused':
        waiting?.settled.reject(new ServiceError(result.code, result.message, { param: result.param }));
        break;
      case 'failed':
        waiting?.settled.reject(result.error);
    }
  }

  async #end(thread: Thread, error: ServiceError): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.timer);
    thread.waiting?.settled.reject(error);
    await thread.worker.terminate();
    this.#assign();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The request takes too much memory to read.');
}

function unreadable(): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server could not read the request in time.');
}
