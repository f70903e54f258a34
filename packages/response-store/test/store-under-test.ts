import { randomBytes, randomUUID } from 'node:crypto';
import type { AdmissionLimits } from '@sluice/admission';
import {
  completed,
  type CreateResponse,
  type OutputItem,
  type ResponseEnd,
  type ServiceTier,
  type UnnumberedEvent,
} from '@sluice/contract';
import {
  forEachTest,
  hasServer,
  type LocalCluster,
  startLocalCluster,
  testRedis,
  type TestRedis,
  said,
} from '@sluice/testing';
import { Cluster, Redis } from 'ioredis';
import {
  AttemptStore,
  type AttemptStoreOptions,
  CallerStore,
  type CallerStoreOptions,
  type CellKeys,
  type Accepting,
  type AcceptResult,
  type Claim,
  type ClaimedRecord,
  type ContextLimits,
  type LargeValueConnection,
  type LetIn,
  type OutboxWriting,
  type QueuedEnd,
  defaultCell,
  prepareRequest,
} from '../src/index.ts';
import { AppendLane } from '../src/append-lane.ts';
import { EventWriter, type EventWriterOptions } from '../src/event-writer.ts';
import { LargeValues } from '../src/large-values.ts';
import { printTold } from '../src/outbox/told-end.ts';
import type { FoundEnd } from '../src/reading/read-record.ts';
import { type EndOfResponse, parseEnd, printAnyEnd, printEnd } from '../src/record/end-json.ts';
import { factFields, facts } from '../src/record/fields.ts';
import { type Append, append, type AppendResult } from '../src/transitions/append.ts';
import { claim, type ClaimOptions } from '../src/transitions/claim.ts';
import {
  type Finish,
  finish,
  type FinishResult,
  countOf,
  toolCallsIn,
  writeLongEnd,
} from '../src/transitions/finish.ts';

/** A server, or a cluster, and connections to it that `close` ends. */
export interface Server {
  prefix: string;
  /** For looking at keys and changing them behind the store's back. */
  client: Redis;
  connect(): Redis;
  subscriber(): Redis;
  close(): Promise<void>;
}

export async function oneServer(url?: string): Promise<Server> {
  const redis: TestRedis = await testRedis(url);
  const { prefix, client, connect } = redis;
  return { prefix, client, connect, subscriber: connect, close: () => redis.close() };
}

let cluster: Promise<LocalCluster> | undefined;

/** One cluster for all tests of a file; see `stopCluster`. */
export async function threePrimaries(): Promise<Server> {
  const { nodes } = await (cluster ??= startLocalCluster());
  const clients: { disconnect(): void; quit(): Promise<unknown> }[] = [];
  const connect = () => {
    const made = new Cluster(nodes, { redisOptions: { protocol: 2 } });
    clients.push(made);
    // A cluster takes every command that these tests send; it lacks what belongs to one connection.
    return made as unknown as Redis;
  };
  const subscriber = () => {
    const made = new Redis({ ...nodes[1], protocol: 2 });
    clients.push(made);
    return made;
  };
  return {
    prefix: `test${randomBytes(8).toString('hex')}`,
    client: connect(),
    connect,
    subscriber,
    close: async () => {
      await Promise.all(clients.map((each) => each.quit().catch(() => undefined)));
    },
  };
}

export async function stopCluster(): Promise<void> {
  await (await cluster)?.stop();
  cluster = undefined;
}

/** Every kind of server the store runs on, for `describe.each`. */
export const servers: [string, () => Promise<Server>][] = [
  ['one server', () => oneServer()],
  ...(hasServer
    ? ([['a cluster of three primaries', threePrimaries]] satisfies [string, () => Promise<Server>][])
    : []),
];

export const retention = { responseSeconds: 600, eventLogSeconds: 300 };
/** Most that a response may continue from, where a test says nothing else. */
export const contextLimits = { bytes: 1_000_000_000, turns: 1_000 };

interface LargeConnection {
  largeValues: LargeValueConnection;
}

const retentionMs = { recordMs: 600_000, logMs: 300_000 };

type ForAccept = 'tenant' | 'tokens' | 'cost' | 'queue' | 'deadline' | 'idempotency' | 'price' | 'key';

export interface AcceptedOptions extends Partial<Pick<Accepting, ForAccept>> {
  streams?: boolean;
  background?: boolean;
  store?: boolean;
  /** Processes with somebody attached; the first one accepts. */
  watchers?: string[];
  /** What the test says the past was: fields of the record, by their names in the store. */
  fields?: Record<string, string | number>;
  /** The text of the user. */
  text?: string;
  /** What it continues from. */
  previousId?: string;
  /** Members of the request beside those above. */
  request?: Partial<CreateResponse>;
  context?: ContextLimits;
  /** Limits of the tenant; none by default. */
  limits?: Partial<AdmissionLimits>;
  serviceTier?: ServiceTier;
  /** The process that accepts; by default the one of the first watcher. */
  by?: CallerStore;
  /** By default a new one. */
  responseId?: string;
}

interface ToAccept extends Partial<Omit<Accepting, 'limits' | 'prepared'>> {
  id: string;
  request: CreateResponse;
  limits?: Partial<AdmissionLimits> | undefined;
}

/** The facts of a response that an api accepts, as they are where a test says nothing else. */
export function toAccept({ request, limits, ...rest }: ToAccept): Accepting {
  return {
    key: 'a1b2c3d4e5f60718',
    request_id: 'req_1',
    tenant: 'team-a',
    tier: 'default',
    queue: 'simulator',
    traceparent: undefined,
    most_output: undefined,
    price: undefined,
    grace_ms: 0,
    cost: 4,
    queue_ms: 600_000,
    hold_ms: 600_000,
    most_context_bytes: contextLimits.bytes,
    most_context_turns: contextLimits.turns,
    prepared: prepareRequest(request, { withDigest: rest.idempotency !== undefined }),
    tokens: { input: 1, output: 1, mostInput: undefined },
    isWatched: false,
    limits: { service: { queued: 1_000_000, queuedBytes: 1_000_000_000 }, ...limits },
    ownLimits: {},
    idempotency: undefined,
    deadline: () => Date.now() + 3_600_000,
    ...rest,
  };
}

/** What a test says of an end that it writes, in place of the usual. */
export interface WriteOptions extends Partial<Pick<Finish, 'retention' | 'now'>> {
  redis?: Redis;
  /** Writes an end of any length into the record. */
  inRecord?: boolean;
  /** How many ends wait in the outbox; none are written there by default. */
  outbox?: OutboxWriting | undefined;
}

/** The store over one server as an api process and a worker process see it, and what tests do with it. */
export class StoreUnderTest {
  /** Ends that were written while nobody ran their responses, as callers were told of them. */
  readonly server: Server;
  readonly caller: CallerStore;
  readonly attempts: AttemptStore;
  readonly keys: CellKeys;
  readonly #callers = new Map<string, CallerStore>();
  readonly #stops: (() => unknown)[] = [];
  readonly rung: string[] = [];
  /** Responses whose jobs were to go into their queues. */
  readonly letIn: LetIn[] = [];
  /** Ends without a worker that a process was told of. */
  readonly queuedEnds: QueuedEnd[] = [];
  readonly #onLetIn = (letIn: readonly LetIn[]) => this.letIn.push(...letIn);

  constructor(server: Server) {
    this.server = server;
    this.caller = this.process('1');
    this.attempts = this.worker();
    this.keys = this.caller.keys.inCell(defaultCell);
  }

  /** The input of a response of `team-a`; undefined when it is gone. */
  async readInput(responseId: string): Promise<unknown> {
    const part = await this.caller.locateInput('team-a', responseId);
    const json = part && (await this.caller.readItemPart(part));
    return json === undefined ? undefined : JSON.parse(Buffer.from(json).toString());
  }

  /** The store of an api process. It holds no lease until it is started. */
  process(processId: string, largeValues: Redis = this.server.client, outbox?: OutboxWriting): CallerStore {
    const known = this.#callers.get(processId);
    if (known) return known;
    const made = this.callerOver(this.server.client, {
      largeValues,
      processId,
      onLetIn: this.#onLetIn,
      onQueuedEnd: (ended) => this.queuedEnds.push(ended),
      outbox,
    });
    this.#callers.set(processId, made);
    return made;
  }

  /** The store of an api process of its own, over one connection unless `more` says otherwise. */
  callerOver(
    commands: Redis,
    { subscriber = this.server.subscriber(), ...more }: Partial<CallerStoreOptions> = {},
  ): CallerStore {
    const made = new CallerStore({
      commands,
      bulk: commands,
      largeValues: commands,
      subscriber,
      keyPrefix: `${this.server.prefix}:`,
      retention,
      processId: randomUUID(),
      onError: () => undefined,
      ...more,
    });
    this.#stops.push(() => made.stop());
    return made;
  }

  worker(options: Partial<AttemptStoreOptions> = {}): AttemptStore {
    const { client, prefix } = this.server;
    const made = new AttemptStore({
      commands: client,
      control: client,
      bulk: client,
      largeValues: client,
      subscriber: this.server.subscriber(),
      keyPrefix: `${prefix}:`,
      retention,
      processId: 'w',
      onLetIn: this.#onLetIn,
      totalMs: 60_000,
      maxAttempts: 2,
      context: contextLimits,
      leaseMs: 5_000,
      onError: () => undefined,
      onEndAskedFor: (responseId) => this.rung.push(responseId),
      ...options,
    });
    this.#stops.push(() => made.stop());
    return made;
  }

  async accepted(options: AcceptedOptions = {}): Promise<string> {
    const { responseId, result } = await this.accepting(options);
    if (result.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(result)}`);
    return responseId;
  }

  /** Accepts a response, or is refused. */
  async accepting({
    streams = true,
    background = true,
    store = true,
    watchers = [],
    fields = {},
    text = 'hi',
    previousId,
    request: more,
    context = contextLimits,
    serviceTier = 'default',
    by,
    responseId: known,
    ...asked
  }: AcceptedOptions = {}): Promise<{ responseId: string; result: AcceptResult }> {
    const [first, ...others] = watchers;
    const accepting = by ?? (first === undefined ? this.caller : this.process(first));
    const request: CreateResponse = {
      model: 'simulator',
      input: [{ type: 'message', role: 'user', content: text }],
      stream: streams,
      background,
      store,
      ...(previousId !== undefined && { previous_response_id: previousId }),
      ...more,
    };
    const [made = ''] = await accepting.newIds(asked.tenant ?? 'team-a', randomBytes, { limits: {} });
    const responseId = known ?? made;
    const result = await accepting.accept(
      toAccept({
        ...asked,
        id: responseId,
        request,
        tier: serviceTier,
        most_context_bytes: context.bytes,
        most_context_turns: context.turns,
        isWatched: first !== undefined,
      }),
    );
    if (result.kind !== 'accepted') return { responseId, result };
    for (const other of others) await this.process(other).attach(responseId);
    if (Object.keys(fields).length > 0) await this.change(responseId, fields);
    return { responseId, result };
  }

  /** A response that continues from another one, as the attempt with this token has claimed it. */
  async continued(previousId: string, token: string, options: AcceptedOptions = {}): Promise<ClaimedRecord> {
    const claimed = await this.take(await this.accepted({ previousId, ...options }), token);
    if (claimed.kind !== 'run') throw new Error(`not running: ${claimed.kind}`);
    return claimed.record;
  }

  /** A response that is completed, with this output. */
  async ended(options: AcceptedOptions = {}, output: OutputItem[] = []): Promise<string> {
    const responseId = await this.running('a', { ...options, streams: false });
    await this.write(responseId, 'a', 3, [], completed({ output, usage: null }, 1));
    return responseId;
  }

  /** Responses that continue from one another, the oldest first. */
  async chain(length: number, options: AcceptedOptions = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < length; at += 1) {
      const previousId = ids.at(-1);
      const links = previousId === undefined ? {} : { previousId };
      ids.push(await this.ended({ text: `asked ${at}`, ...links, ...options }, [said(`answered ${at}`)]));
    }
    return ids;
  }

  /** The bytes and commands that a step costs the server, those inside scripts included. Nobody else may use the server. */
  async cost(step: () => Promise<unknown>): Promise<{ bytes: number; commands: Record<string, number> }> {
    const look = async () => {
      const { client } = this.server;
      const [stats, commands] = [await client.info('stats'), await client.info('commandstats')];
      const bytes = Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
      const calls = [...commands.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
      return { bytes, calls: new Map(calls.map(([, name = '', count]) => [name, Number(count)])) };
    };
    const start = await look();
    const before = await look();
    await step();
    const after = await look();
    const spent = [...after.calls]
      .map(([name, count]) => [name, count - (before.calls.get(name) ?? 0)] as const)
      .filter(([name, count]) => count > 0 && name !== 'info');
    // A look answers behind its own count. Two looks in a row say how much that is.
    const bytes = after.bytes - before.bytes - (before.bytes - start.bytes);
    return { bytes, commands: Object.fromEntries(spent) };
  }

  take(
    responseId: string,
    token: string,
    { largeValues = this.server.client, ...options }: Partial<ClaimOptions> & Partial<LargeConnection> = {},
  ): Promise<Claim> {
    const worker = this.keys.workerProcess('w');
    const lease = { worker, leaseHeldMs: 60_000, leaseLapseMs: 5_000 };
    const usual = { token, ...lease, totalMs: 60_000, maxAttempts: 2 };
    const { client } = this.server;
    const access = {
      redis: client,
      keys: this.caller.keys,
      large: new LargeValues(largeValues),
      ends: new LargeValues(largeValues),
      onLetIn: this.#onLetIn,
    };
    return claim(access, responseId, { ...usual, ...options });
  }

  /** Appends to several responses in one step. */
  append(...appends: Append[]): Promise<(AppendResult | Error)[]> {
    return append({ redis: this.server.client, keys: this.caller.keys }, appends);
  }

  /** Appends events or, with an end, ends the response behind them. */
  async write(
    responseId: string,
    token: string,
    sequenceNumber: number,
    events: string[],
    end?: ResponseEnd,
    { redis = this.server.client, inRecord = false, outbox, ...more }: WriteOptions = {},
  ): Promise<{ kind: AppendResult | FinishResult }> {
    const access = { redis, keys: this.caller.keys, onLetIn: this.#onLetIn, outbox };
    if (!end) {
      const [kind] = await append(access, [{ responseId, token, sequenceNumber, events }]);
      if (kind === undefined || kind instanceof Error) throw kind ?? new Error('No answer');
      return { kind };
    }
    const streams = (await this.caller.read(responseId))?.streams ?? true;
    const ending = { responseId, sequenceNumber, end };
    const printed = inRecord ? printEnd(ending) : await printAnyEnd(ending);
    const ends = new LargeValues(this.server.client);
    if (typeof printed !== 'string')
      await writeLongEnd({ ends, keys: access.keys }, { responseId, token }, printed);
    const result = typeof printed === 'string' ? printed : { bytes: printed.length };
    const { status } = end;
    const toolCalls = toolCallsIn(end);
    const finishing = {
      token,
      sequenceNumber,
      streams,
      events,
      status,
      result,
      counted: countOf(end),
      toolCalls,
      told: printTold({ request: { model: 'simulator' }, label: undefined, end }),
      retention: retentionMs,
      now: Date.now(),
      ...more,
    };
    return { kind: await finish(access, responseId, finishing) };
  }

  /** The writer of the attempt `a`, over one connection unless `options` say otherwise. */
  writer(
    responseId: string,
    { redis = this.server.client, ...options }: Partial<EventWriterOptions> & { redis?: Redis } = {},
  ): EventWriter {
    const { keys } = this.caller;
    return new EventWriter({
      control: redis,
      bulk: redis,
      lanes: {
        first: new AppendLane({ redis, keys, windowMs: 0 }),
        later: new AppendLane({ redis, keys, windowMs: 2 }),
      },
      ends: new LargeValues(redis),
      keys,
      responseId,
      request: { model: 'simulator' },
      token: 'a',
      sequenceNumber: 2,
      streams: true,
      retention: { recordMs: 60_000, logMs: 30_000 },
      onRefused: () => undefined,
      signal: new AbortController().signal,
      ...options,
    });
  }

  /** A response that an attempt runs; its next event has the number 3. */
  async running(token: string, options?: AcceptedOptions): Promise<string> {
    const responseId = await this.accepted(options);
    const { kind } = await this.take(responseId, token);
    if (kind !== 'run') throw new Error(`not running: ${kind}`);
    return responseId;
  }

  /** Changes fields behind the store's back. */
  async change(responseId: string, fields: Record<string, string | number>): Promise<void> {
    const { client } = this.server;
    const record = this.keys.record(responseId);
    const known = ((await client.hget(record, facts)) ?? '').split('\n');
    const own = Object.entries(fields).filter(([name, value]) => {
      const place = factFields.findIndex((each) => each === name);
      if (place >= 0) known[place] = String(value);
      return place === -1;
    });
    await client.hset(record, { ...Object.fromEntries(own), [facts]: known.join('\n') });
  }

  async field(responseId: string, name: string): Promise<string | null> {
    const { client } = this.server;
    const record = this.keys.record(responseId);
    const place = factFields.findIndex((each) => each === name);
    if (place === -1) return client.hget(record, name);
    return (await client.hget(record, facts))?.split('\n')[place] || null;
  }

  /** What the log holds: numbers and JSON, in order. */
  async logOf(responseId: string): Promise<[number, string][]> {
    const logged = await this.caller.readEvents(responseId, -1, 100_000);
    return logged.map(({ sequenceNumber, json }) => [sequenceNumber, json]);
  }

  /** How many responses wait, by the counts of admission. */
  async waiting(): Promise<number> {
    return (await this.caller.waiting(defaultCell)).all.responses;
  }

  /** Gives a process a lease, as if it were alive. */
  async holdLease(processId: string): Promise<void> {
    await this.server.client.set(this.keys.apiProcess(processId), '1', 'PX', 60_000);
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) await stop();
    await this.server.close();
  }
}

/** A store for each test of a file or a `describe`, over a server or a cluster. */
export function storeForEachTest(connect: () => Promise<Server> = oneServer): StoreUnderTest {
  return forEachTest(async () => new StoreUnderTest(await connect()));
}

/** A connection that leaves it to `by` to send a script, and to do something before or after that. */
export function scriptsSent(client: Redis, by: (send: () => Promise<unknown>) => Promise<unknown>): Redis {
  return new Proxy(client, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      if (name !== 'evalsha') return found.bind(target) as unknown;
      return (...args: Parameters<Redis['evalsha']>) => by(() => client.evalsha(...args));
    },
  });
}

/** For a reader that has all the memory it wants. */
export const noHold = (_bytes: number) => Promise.resolve(() => undefined);

/** The short end that somebody waited for. */
export function endOf(found: FoundEnd): EndOfResponse {
  if (found.kind === 'long') throw new Error(`an end of ${found.bytes} bytes was not read`);
  return parseEnd(found.json);
}

/** The id of a response that never was. */
export function unknownId(): string {
  return `create-response_0${randomUUID().replaceAll('-', '')}`;
}

/** A piece of the text of a message. */
export function delta(text: string): UnnumberedEvent {
  return {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: text,
    logprobs: [],
  };
}
