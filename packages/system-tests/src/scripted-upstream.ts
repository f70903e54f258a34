import { randomUUID } from 'node:crypto';
import {
  type FakeUpstream,
  latch,
  type Latch,
  startFakeUpstream,
  type UpstreamRequest,
} from '@sluice/testing';

/** What the model server sends before it waits for the test. */
export type FirstWords = 'nothing' | 'one word';

/** One expected call of the model server, recognised by its prompt. */
export interface ExpectedCall {
  /** The prompt to send. */
  input: string;
  /** Opens when the call has arrived and its first words have been sent. */
  arrived: Latch<UpstreamRequest>;
  /** Makes the model server send the rest and finish properly. */
  finish: () => void;
}

/** A model server that answers each prompt as the test says, any number of them at a time. */
export interface ScriptedUpstream {
  fake: FakeUpstream;
  /** `rest` is what it sends between its first words and the end. */
  expect: (firstWords: FirstWords, rest?: readonly string[]) => ExpectedCall;
  close: () => Promise<void>;
}

interface Plan {
  firstWords: FirstWords;
  rest: readonly string[];
  arrived: Latch<UpstreamRequest>;
  told: Promise<void>;
}

export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  const fake = await startFakeUpstream();
  const plans = new Map<string, Plan>();
  fake.onChatCompletions(async ({ request, stream }) => {
    const answer = stream();
    const plan = plans.get(promptOf(request));
    if (plan !== undefined) {
      if (plan.firstWords === 'one word') await answer.send(chunkOf('Well'));
      plan.arrived.open(request);
      await Promise.race([plan.told, request.ended]);
      for (const text of plan.rest) await answer.send(chunkOf(text));
    }
    await answer.send(chunkOf('.', 'stop'));
    answer.done();
  });
  return {
    fake,
    expect(firstWords, rest = []) {
      const input = `Prompt ${randomUUID()}`;
      const { promise: told, resolve: finish } = Promise.withResolvers<void>();
      const arrived = latch<UpstreamRequest>();
      plans.set(input, { firstWords, rest, arrived, told });
      return { input, arrived, finish };
    },
    close: () => fake.close(),
  };
}

/** The last message of a chat completion from our own provider. */
export function promptOf({ body }: UpstreamRequest): string {
  const { messages = [] } = body as { messages?: { content?: unknown }[] };
  return String(messages.at(-1)?.content);
}

function chunkOf(content: string, finish: 'stop' | null = null): object {
  return { choices: [{ index: 0, delta: { content }, finish_reason: finish }] };
}
