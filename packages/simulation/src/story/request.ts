import {
  type Answer,
  CallerPresence,
  type Caller,
  dialects,
  type EventSink,
  PendingRequest,
  type SentEvent,
} from '@sluice/api';
import type { ReadyApi } from '../service/simulated-service.ts';
import type { World } from '../world/world.ts';
import type { CallerPlan } from './scenario.ts';

type Parts = ReadyApi['parts'];

/** What a caller was told in the end of one request. */
export type Told =
  /** A response, as JSON. */
  | { kind: 'response'; json: string }
  | { kind: 'error'; code: string; status: number }
  /** The events ended behind the last one. */
  | { kind: 'stream ended' }
  /** The events broke off, or the api died: nobody knows what became of it. */
  | { kind: 'broken' };

/** One request of a caller, and what it was told so far. */
export class Request {
  readonly told: Promise<Told>;
  /** Called with each event, and with the id of the response, as soon as the caller has them. */
  onEvent: (event: { sequenceNumber: number; json: string }) => void = () => undefined;
  onId: (responseId: string) => void = () => undefined;
  /** How long the caller takes to read what it is sent at once, in milliseconds. */
  readMs = 0;
  readonly #world: World;
  readonly #api: ReadyApi;
  readonly #presence = new CallerPresence();
  readonly #gone = new AbortController();
  readonly #settle: (told: Told) => void;
  /** When what was sent last arrives: what is sent later does not overtake it. */
  #arrivesAt = 0;
  #hasLeft = false;
  #isCut = false;

  constructor(
    world: World,
    api: ReadyApi,
    who: string,
    what: (parts: Parts, request: Request) => Promise<Told>,
  ) {
    this.#world = world;
    this.#api = api;
    const { promise, resolve } = Promise.withResolvers<Told>();
    this.told = promise;
    this.#settle = resolve;
    const { process, parts, asServiceError } = api;
    process.onDeath(() => this.#arrive(() => resolve({ kind: 'broken' })));
    const startedAt = world.elapsedMs;
    this.caller = {
      // Its key is set by whoever knows it.
      key: undefined as unknown as Caller['key'],
      requestId: who,
      presence: this.#presence,
      hold: () => Promise.resolve(() => undefined),
      elapsedMs: () => world.elapsedMs - startedAt,
    };
    process.after(this.#latency(), () => {
      if (this.#hasLeft) this.#endPresence();
      const underWay = parts.open.begin(() => this.#presence.end('interrupted'));
      const answered = what(parts, this).finally(() => underWay.end());
      answered.then(
        (answer) => this.#arrive(() => resolve(answer)),
        (error: unknown) => {
          const known = asServiceError(error);
          if (!known) world.crashed(error);
          const { code, status } = known ?? { code: 'server_error', status: 500 };
          this.#arrive(() => resolve({ kind: 'error', code, status }));
        },
      );
    });
  }

  readonly caller: Caller;

  /** The caller goes: its connection is closed. It hears of nothing any more. */
  leave(): void {
    this.#hasLeft = true;
    this.#settle({ kind: 'broken' });
    this.#api.process.after(this.#latency(), () => this.#endPresence());
  }

  accepted(responseId: string): void {
    this.#arrive(() => this.onId(responseId));
  }

  readonly openSink = (): EventSink => ({
    gone: this.#gone.signal,
    write: (events) => {
      for (const event of events) this.#send(event);
      const { readMs } = this;
      if (readMs === 0) return Promise.resolve();
      return new Promise((resolve) => void this.#api.process.after(readMs, resolve));
    },
    caughtUp: () => undefined,
    repeatWhileSilent: () => undefined,
    remarkWhileSilent: () => undefined,
    end: () => undefined,
    cut: () => {
      this.#isCut = true;
    },
  });

  /** How a stream has ended that is over. */
  get streamEnd(): Told {
    return { kind: this.#isCut ? 'broken' : 'stream ended' };
  }

  #send({ sequenceNumber, json: hollow, texts }: SentEvent): void {
    const json = texts ? Buffer.concat(texts.piecesOf(hollow)).toString() : hollow;
    this.#arrive(() => this.onEvent({ sequenceNumber, json }));
  }

  #endPresence(): void {
    this.#gone.abort();
    this.#presence.end('caller_left');
  }

  /** Tells the caller something, in the order in which it was sent. */
  #arrive(tell: () => void): void {
    const { elapsedMs } = this.#world;
    this.#arrivesAt = Math.max(this.#arrivesAt, elapsedMs + this.#latency());
    this.#world.after(this.#arrivesAt - elapsedMs, undefined, () => {
      if (!this.#hasLeft) tell();
    });
  }

  #latency(): number {
    return this.#world.random.skewed(0.2);
  }
}

export interface Asking {
  world: World;
  api: ReadyApi;
  plan: Pick<CallerPlan, 'name' | 'tenant'>;
}

/** Longer than an api holds them for a caller that waits. */
const longInstructions = 'Be brief. '.repeat(7_000);

/** Asks for the response of a plan. */
export function create({
  world,
  api,
  plan,
  previousId,
}: Asking & { plan: CallerPlan; previousId: string | undefined }): Request {
  const { name, mode, tenant, model, idempotencyKey, isLong } = plan;
  const isStream = mode === 'stream' || mode === 'background stream';
  const isBackground = mode === 'background' || mode === 'background stream';
  const body = Buffer.from(
    JSON.stringify({
      model,
      input: `prompt of ${name}`,
      ...(isLong && { instructions: longInstructions }),
      metadata: { caller: name },
      ...(previousId !== undefined && { previous_response_id: previousId }),
      stream: isStream,
      background: isBackground,
    }),
  );
  return new Request(world, api, name, async (parts, request) => {
    const caller = callerOf(parts, request, tenant);
    const withDigest = idempotencyKey !== undefined;
    const pending = new PendingRequest(await parts.bodies.reader.prepare(body, { tenant, withDigest }));
    const creation = {
      pending,
      idempotencyKey,
      reserve: () => undefined,
      onAccepted: ({ responseId }: { responseId: string }) => request.accepted(responseId),
    };
    if (isStream) {
      await parts.responses.create.stream(caller, { ...creation, presentation }, request.openSink);
      return request.streamEnd;
    }
    const created = isBackground
      ? await parts.responses.create.inBackground(caller, creation)
      : await parts.responses.create.whole(caller, creation);
    return created.kind === 'left' ? { kind: 'broken' } : told(created.answer);
  });
}

/** Reads a response as it stands. */
export function retrieve(asking: Asking, responseId: string): Request {
  const { world, api, plan } = asking;
  return new Request(world, api, plan.name, async (parts, request) => {
    return told(await parts.responses.retrieve(callerOf(parts, request, plan.tenant), responseId));
  });
}

export function cancel(asking: Asking, responseId: string): Request {
  const { world, api, plan } = asking;
  return new Request(world, api, plan.name, async (parts, request) => {
    return told(await parts.responses.cancel(callerOf(parts, request, plan.tenant), responseId));
  });
}

/** Reads the events of a response behind a number. */
export function follow(asking: Asking, responseId: string, cursor: number): Request {
  const { world, api, plan } = asking;
  return new Request(world, api, plan.name, async (parts, request) => {
    const caller = callerOf(parts, request, plan.tenant);
    await parts.responses.follow(caller, responseId, { cursor, presentation, openSink: request.openSink });
    return request.streamEnd;
  });
}

/** The stored responses of a tenant, as JSON of a list. */
export function list(asking: Asking): Request {
  const { world, api, plan } = asking;
  return new Request(world, api, plan.name, async (parts, request) => {
    const caller = callerOf(parts, request, plan.tenant);
    const all: { id: string }[] = [];
    for (let hasMore = true; hasMore; ) {
      const page = await parts.responses.list(caller, { after: all.at(-1)?.id, limit: 100 });
      all.push(...page.responses);
      page.free?.();
      hasMore = page.hasMore;
    }
    return { kind: 'response', json: JSON.stringify(all) };
  });
}

const [, openai = dialects[0]] = dialects;
const presentation = {
  dialect: openai ?? { mount: '/v1', object: 'response' },
  obfuscate: false,
  specificationNames: false,
};

function callerOf(parts: Parts, request: Request, tenant: string): Caller {
  return { ...request.caller, key: keyOf(parts, tenant) };
}

/** The key by which a tenant asks. */
export function keyOf({ tenants }: Parts, tenant: string): Caller['key'] {
  const key = tenants.known.file.find(({ name }) => name === tenant);
  if (!key) throw new Error(`There is no tenant '${tenant}'`);
  return key;
}

function told({ response, texts, free }: Answer): Told {
  const json = JSON.stringify(texts ? texts.filled(response) : response);
  free();
  return { kind: 'response', json };
}
