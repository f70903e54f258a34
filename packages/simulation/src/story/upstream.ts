import { setTimeout as pause } from 'node:timers/promises';
import { countedUsage } from '@sluice/contract';
import { type Provider, type ProviderCall, type ProviderChunk, ProviderError } from '@sluice/providers';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import type { CallEnd, CallPlan, PromptPlan } from './scenario.ts';

/** One call of the upstream. */
export interface UpstreamCall {
  caller: string;
  tenant: string;
  model: string;
  responseId: string;
  /** The whole request, as JSON. */
  asked: string;
  /** How it was to end. */
  planned: CallEnd;
  process: string;
  /** When the process was started, in milliseconds of the world: one that was killed comes back under its name. */
  startedMs: number;
  /** Whether its process had stood still a moment before, so that its claim is an old one. */
  isStale: boolean;
  /** When it began and ended, in milliseconds of the world; a call of a process that died has ended with it. */
  fromMs: number;
  toMs: number | undefined;
  /** Whether it came to the end that was planned. */
  isOver: boolean;
}

const usage = countedUsage(3, 2);

/** Token `at`, from 1, of call `call`, from 1: text that was lost, repeated or mixed shows by itself. */
export function tokenOf(
  { name, calls }: Pick<PromptPlan, 'name' | 'calls'>,
  call: number,
  at: number,
): string {
  const { tokenLength = 0 } = callPlanned(calls, call);
  return `${`${name}.${call}.${at}`.padEnd(tokenLength, '.')} `;
}

/** In this time a process that has stood still goes on with what it began before, in milliseconds. */
const wakingMs = 20;

function callPlanned(calls: PromptPlan['calls'], call: number): CallPlan {
  return calls[Math.min(call, calls.length) - 1] ?? calls[0];
}

/** The upstreams of a world: they do what the scenario says, and remember who called. */
export class SimulatedUpstream {
  readonly calls: UpstreamCall[] = [];
  readonly #plans: ReadonlyMap<string, PromptPlan>;
  readonly #counts = new Map<string, number>();
  /** Called when a call kills the process that runs it. */
  onCrash: (process: SimulatedProcess) => void = () => undefined;

  constructor(plans: readonly PromptPlan[]) {
    this.#plans = new Map(plans.map((plan) => [plan.name, plan]));
  }

  callsOf(caller: string): UpstreamCall[] {
    return this.calls.filter((call) => call.caller === caller);
  }

  /** The upstream as a process has it. */
  providerOf(process: SimulatedProcess): Provider {
    return {
      id: 'upstream',
      generate: (generation, call) => {
        const asked = JSON.stringify(generation);
        // Those before it are of the turns that it continues.
        const [, prompt = ''] = [...asked.matchAll(/prompt of ([cb]\w+)/g)].at(-1) ?? [];
        const plan = this.#plans.get(prompt);
        if (!plan) throw new Error(`'${prompt}' is no prompt of the scenario`);
        return this.#run(process, { plan, asked }, call);
      },
      close: () => Promise.resolve(),
    };
  }

  async *#run(
    process: SimulatedProcess,
    { plan, asked }: { plan: PromptPlan; asked: string },
    call: ProviderCall,
  ): AsyncGenerator<ProviderChunk> {
    const { world } = process;
    const number = (this.#counts.get(plan.name) ?? 0) + 1;
    this.#counts.set(plan.name, number);
    const { firstMs, betweenMs, tokens, end } = callPlanned(plan.calls, number);
    const known: UpstreamCall = {
      planned: end,
      caller: plan.name,
      tenant: plan.tenant,
      model: plan.model,
      responseId: call.responseId,
      asked,
      process: process.name,
      startedMs: process.startedMs,
      isStale: world.elapsedMs < process.pausedUntilMs + wakingMs,
      fromMs: world.elapsedMs,
      toMs: undefined,
      isOver: false,
    };
    this.calls.push(known);
    world.note(process.name, `calls the upstream for ${plan.name}, call ${number}`);
    const over = () => {
      known.toMs ??= world.elapsedMs;
    };
    process.onDeath(over);
    const { signal } = call;
    try {
      await waitFor(firstMs, signal);
      for (let at = 1; at <= tokens; at += 1) {
        if (at > 1) await waitFor(betweenMs, signal);
        yield { type: 'text', delta: tokenOf(plan, number, at) };
      }
      await waitFor(betweenMs, signal);
      known.isOver = true;
      if (end === 'crash') world.after(0, undefined, () => this.onCrash(process));
      yield* ending(end, signal);
    } finally {
      over();
      world.note(process.name, `call ${number} for ${plan.name} is over`);
    }
  }
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch {
    throw signal.reason;
  }
}

/** How long an upstream that limits calls asks for, in milliseconds. */
export const limitedForMs = 500;

/** Longer than any response may take. */
const forEverMs = 2 ** 31 - 1;

async function* ending(end: CallEnd, signal: AbortSignal): AsyncGenerator<ProviderChunk> {
  switch (end) {
    case 'finish':
      yield { type: 'usage', usage };
      yield { type: 'finish', reason: 'stop' };
      return;
    case 'cut':
      return;
    case 'hang':
    case 'crash':
      await waitFor(forEverMs, signal);
      return;
    case 'refused':
    case 'broken':
      throw new ProviderError('upstream_error', `simulated: ${end}`, { disposition: 'retry', fault: end });
    case 'limited':
      throw new ProviderError('server_is_overloaded', 'simulated: limited', {
        disposition: 'retry',
        fault: 'limited',
        retryAfterMs: limitedForMs,
      });
    case 'fatal':
      throw new ProviderError('model_error', 'simulated: fatal', { disposition: 'fail' });
  }
}
