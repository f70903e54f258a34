import { isTerminal, isTerminalType, type Status } from '@sluice/contract';
import type { ReadyApi, SimulatedService } from '../service/simulated-service.ts';
import type { Random } from '../world/random.ts';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import type { World } from '../world/world.ts';
import { cancel, create, follow, type Request, retrieve, type Told } from './request.ts';
import type { ActPlan, CallerPlan } from './scenario.ts';

/** How long a caller waits before it tries again, in milliseconds. */
const againAfterMs = 400;

/** Tries after which a caller gives up. Long enough for every fault to be over. */
const mostTries = 400;

/** How a caller fared: what it was told, over all its connections. */
export type Fate =
  /** It was told the end. */
  | { kind: 'ended'; json: string }
  /** It was told that there is none, and did not ask again. */
  | { kind: 'refused'; code: string; status: number }
  /** It went away, or lost its connection and could not come back. */
  | { kind: 'gone' };

/** Somebody who wants one response, and does what real clients do to get it. */
export class SimulatedCaller {
  readonly plan: CallerPlan;
  readonly fate: Promise<Fate>;
  /** The id of its response, once it was told. It has another one when it asked again for one that had ended. */
  responseId: string | undefined;
  /** When it was told of that one first, in milliseconds of the world. */
  toldMs: number | undefined;
  /** Whether it was told that its response is accepted. */
  isAccepted = false;
  /** When it was told so first, in milliseconds of the world. */
  acceptedMs: number | undefined;
  /** Each event that it was sent, over all connections. */
  readonly events: { sequenceNumber: number; json: string }[] = [];
  /** The one whose completed response it continues. */
  previous: SimulatedCaller | undefined;
  /** Whether it was refused once, and asked again. */
  wasRefused = false;
  /** The number behind which a stream had nothing more to tell, although its caller has not been told the end. */
  silentBehind: number | undefined;
  /** When that was, in milliseconds of the world. */
  silentMs = 0;
  /** What a cancellation was answered with. */
  cancelled: Told | undefined;
  readonly #world: World;
  readonly #service: SimulatedService;
  readonly #random: Random;
  #request: Request | undefined;
  isDone = false;
  /** Whether it was told that its response has completed. */
  hasCompleted = false;
  /** When it asked first, and when it was done, in milliseconds of the world. */
  begunMs = Number.POSITIVE_INFINITY;
  doneMs = Number.POSITIVE_INFINITY;
  /**
   * How long it was without a request at most, in milliseconds of the world. One that was refused, as by an api of another release, does not count, nor
   * the last part of one that broke off because its api had stood still.
   */
  longestAwayMs = 0;
  /** The process that it asked last. */
  asked: SimulatedProcess | undefined;
  #hasLeft = false;
  /** When its last request was over that was not refused. */
  #leftMs = Number.POSITIVE_INFINITY;

  /** `others` have the caller that it follows, if any. */
  constructor(
    world: World,
    service: SimulatedService,
    { plan, others }: { plan: CallerPlan; others: readonly SimulatedCaller[] },
  ) {
    this.#world = world;
    this.#service = service;
    this.plan = plan;
    this.#random = world.random.fork(`caller ${plan.name}`);
    this.fate = this.#run(others.find(({ plan: { name } }) => name === plan.follows));
    for (const act of plan.acts) {
      world.after(plan.atMs + act.afterMs, undefined, () => void this.#act(act));
    }
  }

  async #run(followed: SimulatedCaller | undefined): Promise<Fate> {
    await this.#world.sleep(this.plan.atMs);
    if ((await followed?.fate)?.kind === 'ended' && followed?.hasCompleted === true) this.previous = followed;
    this.begunMs = this.#world.elapsedMs;
    for (let tries = 0; tries < mostTries && !this.#hasLeft; tries += 1) {
      const told = await this.#try();
      const fate = await this.#judge(told);
      if (fate) return this.#end(fate);
      await this.#world.sleep(this.#random.skewed(againAfterMs));
    }
    return this.#end({ kind: 'gone' });
  }

  #end(fate: Fate): Fate {
    this.isDone = true;
    if (fate.kind === 'ended') {
      const { id, status } = JSON.parse(fate.json) as { id: string; status: Status }; // as it was told
      // A key that was free again may have made another one.
      this.hasCompleted = status === 'completed' && id === this.responseId;
    }
    this.doneMs = this.#world.elapsedMs;
    this.#world.note(this.plan.name, `is done: ${fate.kind} ${fate.kind === 'refused' ? fate.code : ''}`);
    return fate;
  }

  /** One request: the first, or whatever leads to the rest of the response. */
  async #try(): Promise<Told> {
    const previousId = this.previous?.responseId;
    const asking = { world: this.#world, api: await this.#findApi(), plan: this.plan, previousId };
    const askedMs = this.#world.elapsedMs;
    let heardMs = askedMs;
    const { process } = asking.api;
    this.asked = process;
    const behind = this.#lastNumber;
    const id = this.responseId;
    if (id === undefined) this.#request = create(asking);
    else if (this.#isStream && this.silentBehind === undefined) {
      this.#request = follow(asking, id, this.#lastNumber);
    } else if (this.#isStream || this.#isBackground) this.#request = retrieve(asking, id);
    else this.#request = create(asking);
    this.#request.readMs = this.plan.readMs ?? 0;
    this.#request.onId = (responseId) => {
      heardMs = this.#world.elapsedMs;
      if (responseId !== this.responseId) this.toldMs = heardMs;
      this.responseId = responseId;
      this.isAccepted = true;
      this.acceptedMs ??= heardMs;
      this.#world.note(this.plan.name, `is told ${responseId}`);
    };
    this.#request.onEvent = (event) => {
      heardMs = this.#world.elapsedMs;
      this.#world.note(this.plan.name, `is sent event ${event.sequenceNumber}`);
      this.events.push(event);
    };
    const told = await this.#request.told;
    const toldMs = this.#world.elapsedMs;
    const hasFailed = told.kind === 'broken' || told.kind === 'error';
    if (hasFailed && process.pausedUntilMs > heardMs) this.#wasAway(toldMs - heardMs);
    if (told.kind !== 'error') {
      this.#wasAway(askedMs - this.#leftMs);
      this.#leftMs = toldMs;
    }
    if (told.kind === 'stream ended' && behind >= 0 && this.#lastNumber === behind) {
      this.silentBehind = behind;
      this.silentMs = toldMs;
    }
    return told;
  }

  #wasAway(ms: number): void {
    this.longestAwayMs = Math.max(this.longestAwayMs, ms);
  }

  get #lastNumber(): number {
    return this.events.at(-1)?.sequenceNumber ?? -1;
  }

  /** What becomes of the caller, given the answer; undefined when it asks again. */
  async #judge(told: Told): Promise<Fate | undefined> {
    if (this.#hasLeft) return { kind: 'gone' };
    switch (told.kind) {
      case 'response': {
        const { id, status } = JSON.parse(told.json) as { id: string; status: Status };
        this.responseId ??= id;
        this.isAccepted = true;
        return isTerminal(status) ? { kind: 'ended', json: told.json } : undefined;
      }
      case 'stream ended': {
        const last = this.events.at(-1);
        if (!last) return undefined;
        const { type, response } = JSON.parse(last.json) as { type: string; response?: object };
        return isTerminalType(type) ? { kind: 'ended', json: JSON.stringify(response) } : undefined;
      }
      case 'error':
        this.wasRefused = true;
        return this.#canAskAgain(told) ? undefined : { ...told, kind: 'refused' };
      case 'broken':
        return this.#canComeBack ? undefined : { kind: 'gone' };
    }
  }

  /** Whether another request leads to the same response. */
  get #canComeBack(): boolean {
    const canRead = this.responseId !== undefined && (this.#isStream || this.#isBackground);
    return canRead || this.plan.idempotencyKey !== undefined;
  }

  #canAskAgain({ status }: { status: number }): boolean {
    return (status === 503 || status === 429) && this.#canComeBack;
  }

  async #act({ kind }: ActPlan): Promise<void> {
    if (this.#hasLeft) return;
    this.#world.note(this.plan.name, `acts: ${kind}`);
    switch (kind) {
      case 'leave':
        this.#hasLeft = true;
        this.#request?.leave();
        return;
      case 'drop':
        this.#request?.leave();
        return;
      case 'cancel': {
        if (this.responseId === undefined) return;
        const asking = { world: this.#world, api: await this.#findApi(), plan: this.plan };
        this.cancelled = await cancel(asking, this.responseId).told;
        this.#world.note(this.plan.name, `cancelled: ${JSON.stringify(this.cancelled)}`);
      }
    }
  }

  async #findApi(): Promise<ReadyApi> {
    for (;;) {
      const [first, ...others] = this.#service.apis;
      if (first) return this.#random.pick([first, ...others]);
      await this.#world.sleep(this.#random.skewed(againAfterMs));
    }
  }

  get #isStream(): boolean {
    return this.plan.mode === 'stream' || this.plan.mode === 'background stream';
  }

  get #isBackground(): boolean {
    return this.plan.mode === 'background' || this.plan.mode === 'background stream';
  }
}
