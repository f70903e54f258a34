import { randomUUID } from 'node:crypto';
import {
  type FakeUpstream,
  startFakeUpstream,
  type UpstreamExchange,
  type UpstreamRequest,
  type UpstreamStream,
} from '@sluice/testing';
import { type Answer, answerTo, type Question } from './conversations.ts';
import { questionOfChat, questionOfResponses } from './read-question.ts';

/** A model server that plays the conversations of `conversations.ts`, over both protocols. */
export interface ScriptedModel {
  /** The `baseUrl` of a provider. */
  baseUrl: string;
  /** Requests whose last prompt has this text, so far. */
  requestsFor: (prompt: string) => UpstreamRequest[];
  /** The next request after so many gets a 429 that says to come back at once. */
  limitOnce: () => void;
  /** Lets the held answer to a prompt go on, also if the prompt has yet to come. */
  goOn: (prompt: string) => void;
  close: () => Promise<void>;
}

/** Starts it on a free port of 127.0.0.1. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const fake: FakeUpstream = await startFakeUpstream();
  const seen: { prompt: string; request: UpstreamRequest }[] = [];
  const holds = new Map<string, PromiseWithResolvers<void>>();
  const holdOf = (prompt: string) => {
    const hold = holds.get(prompt) ?? Promise.withResolvers<void>();
    holds.set(prompt, hold);
    return hold;
  };
  let limited = 0;
  const answer = async (exchange: UpstreamExchange, question: Question, wire: Wire) => {
    seen.push({ prompt: question.prompt, request: exchange.request });
    if (limited > 0) {
      limited -= 1;
      return refuse(exchange, 429, 'rate_limit_exceeded', { 'retry-after': '1' });
    }
    const answered = answerTo(question);
    return play(exchange, answered, { wire, hold: () => holdOf(question.prompt).promise });
  };
  fake.onResponses((exchange) => answer(exchange, questionOfResponses(exchange.request.body), responsesWire));
  fake.onChatCompletions((exchange) => answer(exchange, questionOfChat(exchange.request.body), chatWire));
  return {
    baseUrl: fake.baseUrl,
    requestsFor: (prompt) => seen.filter((each) => each.prompt === prompt).map(({ request }) => request),
    limitOnce() {
      limited += 1;
    },
    goOn: (prompt) => holdOf(prompt).resolve(),
    close: () => fake.close(),
  };
}

/** How a protocol writes the parts of an answer. */
interface Wire {
  text: (stream: UpstreamStream, piece: string) => Promise<void>;
  reasoning: (stream: UpstreamStream, piece: string) => Promise<void>;
  call: (stream: UpstreamStream, index: number, name: string, args: string) => Promise<void>;
  failure: (stream: UpstreamStream, code: string) => Promise<void>;
  end: (stream: UpstreamStream, reason: 'stop' | 'tool_calls') => Promise<void>;
}

interface Manner {
  wire: Wire;
  /** Resolves when a held answer may go on. */
  hold: () => Promise<void>;
}

async function play(exchange: UpstreamExchange, answer: Answer, { wire, hold }: Manner): Promise<void> {
  if (answer.kind === 'refused') return refuse(exchange, answer.status, answer.code, answer.headers);
  const stream = exchange.stream();
  switch (answer.kind) {
    case 'text':
      if (answer.reasoning !== undefined) await wire.reasoning(stream, answer.reasoning);
      for (const piece of answer.pieces) await wire.text(stream, piece);
      return wire.end(stream, 'stop');
    case 'calls':
      for (const [index, { name, arguments: args }] of answer.calls.entries()) {
        await wire.call(stream, index, name, JSON.stringify(args));
      }
      return wire.end(stream, 'tool_calls');
    case 'broken':
      await wire.text(stream, answer.firstWords);
      await wire.failure(stream, answer.code);
      return stream.end();
    case 'stalled':
      await wire.text(stream, answer.firstWords);
      await exchange.hang();
      return;
    case 'held':
      await wire.text(stream, answer.firstWords);
      await Promise.race([hold(), exchange.request.ended]);
      await wire.text(stream, answer.rest);
      return wire.end(stream, 'stop');
  }
}

function refuse(
  { json }: UpstreamExchange,
  status: number,
  code: string,
  headers?: Record<string, string>,
): void {
  json(status, { error: { message: 'as the script says', type: 'scripted', code, param: null } }, headers);
}

const usage = { input: 11, output: 7 };

const responsesWire: Wire = {
  text: (stream, delta) =>
    sendEvent(stream, 'response.output_text.delta', {
      output_index: 0,
      content_index: 0,
      delta,
      logprobs: [{ token: delta, logprob: -0.25, top_logprobs: [{ token: delta, logprob: -0.25 }] }],
    }),
  reasoning: (stream, delta) =>
    sendEvent(stream, 'response.reasoning_summary_text.delta', { output_index: 9, summary_index: 0, delta }),
  async call(stream, output_index, name, args) {
    const item = { type: 'function_call', call_id: `call_${randomUUID()}`, name };
    await sendEvent(stream, 'response.output_item.added', { output_index, item: { ...item, arguments: '' } });
    await sendEvent(stream, 'response.function_call_arguments.delta', { output_index, delta: args });
    await sendEvent(stream, 'response.output_item.done', {
      output_index,
      item: { ...item, arguments: args },
    });
  },
  failure: (stream, code) =>
    sendEvent(stream, 'response.failed', { response: { error: { code, message: 'as the script says' } } }),
  async end(stream) {
    const { input, output } = usage;
    await sendEvent(stream, 'response.completed', {
      response: {
        status: 'completed',
        output: [],
        usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
      },
    });
    stream.end();
  },
};

const chatWire: Wire = {
  text: (stream, content) => sendChoice(stream, { content }),
  reasoning: (stream, content) => sendChoice(stream, { reasoning_content: content }),
  call: (stream, index, name, args) =>
    sendChoice(stream, {
      tool_calls: [{ index, id: `call_${randomUUID()}`, function: { name, arguments: args } }],
    }),
  failure: (stream, code) => stream.send({ error: { code, message: 'as the script says' } }),
  async end(stream, reason) {
    await sendChoice(stream, {}, reason);
    const { input, output } = usage;
    await stream.send({
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    });
    stream.done();
  },
};

function sendEvent(stream: UpstreamStream, type: string, members: object): Promise<void> {
  return stream.event(type, { type, ...members });
}

function sendChoice(stream: UpstreamStream, delta: object, finish: string | null = null): Promise<void> {
  return stream.send({ choices: [{ index: 0, delta, finish_reason: finish }] });
}
