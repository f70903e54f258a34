import type { ReadyApi, SimulatedService } from '../service/simulated-service.ts';
import type { ModelName } from '../service/names.ts';
import type { World } from '../world/world.ts';
import { againAfterMs, askUntilDone, isForgotten, mostTries } from './ask-api.ts';
import type { OperatorPlan } from './scenario.ts';

/** A time in milliseconds of the world, from when an operator was told that something holds. */
export interface Spell {
  model: ModelName;
  fromMs: number;
  toMs: number;
}

/** An operator who stops a queue for a while, or empties it, through one api or the other, and asks again until it is done. */
export class SimulatedOperator {
  readonly #world: World;
  readonly #service: SimulatedService;
  readonly #plan: OperatorPlan;
  /** From the answer to the pause to when it is asked to resume. */
  pause: Spell | undefined;
  /** From when it was asked to drain, by an act that came to its end, to when it was told so. */
  drain: Spell | undefined;
  isDone = false;

  constructor(world: World, service: SimulatedService, plan: OperatorPlan) {
    this.#world = world;
    this.#service = service;
    this.#plan = plan;
    this.#act().then(
      () => (this.isDone = true),
      (error: unknown) => world.crashed(error),
    );
  }

  async #act(): Promise<void> {
    const { model, atMs, pausesForMs, drains } = this.#plan;
    const world = this.#world;
    await world.sleep(atMs);
    if (pausesForMs > 0) await this.#until(({ queues }) => queues.pause(model, asker));
    const fromMs = world.elapsedMs;
    world.note('operator', `has stopped the queue ${model} for ${pausesForMs} ms`);
    if (drains) await this.#drain();
    if (pausesForMs === 0) return;
    await world.sleep(Math.max(fromMs + pausesForMs - world.elapsedMs, 0));
    this.pause = { model, fromMs, toMs: world.elapsedMs };
    world.note('operator', `lets the queue ${model} go on`);
    await this.#until(({ queues }) => queues.resume(model, asker));
  }

  /** Begins to drain until that has come to its end: an act does not outlive its process. */
  async #drain(): Promise<void> {
    const { model } = this.#plan;
    for (let tries = 0; tries < mostTries; tries += 1) {
      const fromMs = this.#world.elapsedMs;
      const act = await this.#until(({ queues }) => queues.drain(model, asker));
      let state: string = act.state;
      while (state === 'running') {
        await this.#world.sleep(againAfterMs);
        state = await this.#until(({ acts }) => acts.read(act.id).then((read) => read.state, forgotten));
      }
      this.#world.note('operator', `${state}: the queue ${model} is drained`);
      if (state !== 'done') continue;
      this.drain = { model, fromMs, toMs: this.#world.elapsedMs };
      return;
    }
  }

  #until<Result>(ask: (operator: ReadyApi['parts']['operator']) => Promise<Result>): Promise<Result> {
    return askUntilDone(this.#service, ({ parts }) => ask(parts.operator));
  }
}

/** A store that was emptied knows of no act. */
function forgotten(error: unknown): string {
  if (isForgotten(error)) return 'forgotten';
  throw error;
}

const asker = { address: 'the simulation' };
