import { setTimeout as pause } from 'node:timers/promises';
import {
  type FakeUpstream,
  latch,
  type Latch,
  startFakeUpstream,
  type UpstreamEnding,
  type UpstreamExchange,
} from '@sluice/testing';
import { promptOf } from '../scripted-upstream.ts';

/** How many tokens each answer has. */
export const tokensOfAnswer = 8;

/** One call of the upstream, as its history tells it. */
export interface StampedCall {
  /** By the clock of this process, in milliseconds. */
  at: number;
  sent: number;
  ending?: UpstreamEnding;
}

/** A prompt whose answer the test controls. */
export interface StampedPrompt {
  /** Its id, which is the prompt. Letters and digits only. */
  id: string;
  /** Opens when a call waits: its first tokens have been sent. */
  holds: Latch;
  /** Lets every call of the prompt go on, now and later. */
  release: () => void;
  calls: StampedCall[];
}

/**
 * A model server whose tokens say where they come from: `<prompt>.<call>.<token>`. Text that was lost, repeated or mixed
 * shows by itself.
 */
export interface StampedUpstream {
  fake: FakeUpstream;
  /** Expects a prompt. Each call sends `holdAfter` tokens and waits for the release. */
  expect: (holdAfter: number) => StampedPrompt;
  /** Resets the connections of all calls that are open. */
  cutAll: () => void;
  close: () => Promise<void>;
}

interface Plan extends StampedPrompt {
  holdAfter: number;
  released: Promise<void>;
}

/** Between two tokens, in milliseconds: a fault can fall between them. */
const betweenTokensMs = 3;

export async function startStampedUpstream(): Promise<StampedUpstream> {
  const fake = await startFakeUpstream();
  const plans = new Map<string, Plan>();
  const open = new Set<UpstreamExchange>();
  fake.onChatCompletions(async (exchange) => {
    const plan = plans.get(promptOf(exchange.request));
    if (plan === undefined) return exchange.json(400, { error: { message: 'not a prompt of the test' } });
    open.add(exchange);
    try {
      await answer(exchange, plan);
    } finally {
      open.delete(exchange);
    }
  });
  let last = 0;
  return {
    fake,
    expect(holdAfter) {
      const id = `p${(last += 1)}`;
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const plan: Plan = { id, holds: latch(), release, calls: [], holdAfter, released };
      plans.set(id, plan);
      return plan;
    },
    cutAll() {
      for (const exchange of open) exchange.cut();
    },
    close: () => fake.close(),
  };
}

async function answer(exchange: UpstreamExchange, plan: Plan): Promise<void> {
  const call: StampedCall = { at: performance.now(), sent: 0 };
  plan.calls.push(call);
  const number = plan.calls.length;
  const ended = exchange.request.ended.then((ending) => (call.ending = ending));
  const stream = exchange.stream();
  for (let token = 1; token <= tokensOfAnswer + 1; token += 1) {
    if (token === plan.holdAfter + 1) {
      plan.holds.open();
      await Promise.race([plan.released, ended]);
    }
    if (exchange.signal.aborted) return;
    if (token > tokensOfAnswer) break;
    await stream.send({ choices: [{ index: 0, delta: { content: stampOf(plan.id, number, token) } }] });
    call.sent = token;
    await pause(betweenTokensMs); // the pace of the answer, not a wait for something
  }
  await stream.send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  stream.done();
}

function stampOf(id: string, call: number, token: number): string {
  return `${id}.${call}.${token} `;
}

/** What is wrong with a text that should be the answer to a prompt, or a part of it that begins with its first token. */
export function textProblems(text: string, promptId: string, isWhole: boolean): string[] {
  const stamps = text.split(' ').filter((stamp) => stamp !== '');
  const call = Number(stamps[0]?.split('.')[1]);
  const expected = stamps.map((_, at) => stampOf(promptId, call, at + 1)).join('');
  if (text !== expected) return [`the text is not the tokens of one call in order: '${text}'`];
  if (isWhole && stamps.length !== tokensOfAnswer) {
    return [`the text has ${stamps.length} tokens of ${tokensOfAnswer}: '${text}'`];
  }
  return [];
}
