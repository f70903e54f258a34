import {
  allowsParallelCalls,
  echoFormat,
  effectiveEffort,
  type FunctionTool,
  type Generation,
} from '@sluice/contract';
import { callableTools } from '../allowed-calls.ts';
import { customAsFunction } from '../openai/custom-tools.ts';
import { ProviderError } from '../provider.ts';
import { refuseEmbedding } from '../refused-embedding.ts';
import { refuseSampling } from '../refused-sampling.ts';
import { chatHistory } from './chat-history.ts';
import { grammarSchema, SchemaRefusal } from './grammar-schema.ts';
import type { Functions, GrammarSchema, HistoryItem, Sampling } from './library.ts';
import type { LlamaRequest } from './messages.ts';

/**
 * The most characters of a prompt for each token of the context. Text has about four. A longer prompt is refused without
 * counting its tokens, because counting takes time of the model's process.
 */
const charactersPerToken = 16;

/** As llama.cpp samples where nothing else is asked for. */
const samplingDefaults = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 };

/** How many of the latest tokens of the answer the penalties count. */
const penaltyTokens = 256;

export interface LlamaRequestOptions {
  providerId: string;
  contextTokens: number;
}

/**
 * Turns a generation into a request to the process of a model.
 *
 * Functions that the model may call where it likes are told to it in the way of its chat template. A function that it has to
 * call, and a format beside functions, become a grammar: an object that names the function and its arguments, or holds the
 * answer.
 *
 * @throws {ProviderError} `invalid_prompt` for anything but text and for a schema that has no grammar, and
 *   `context_length_exceeded` for what cannot fit whatever its tokens are.
 */
export function llamaRequest(
  generation: Generation,
  { providerId, contextTokens }: LlamaRequestOptions,
): LlamaRequest {
  refuseEmbedding(generation, providerId);
  refuseSampling(generation, providerId);
  try {
    const history = chatHistory(generation, providerId);
    const answer = answerMembers(generation, history);
    const request: LlamaRequest = {
      history: answer.history,
      isChoice: answer.isChoice,
      sampling: samplingOf(generation),
      mayThink: effectiveEffort(generation.reasoning?.effort) !== 'none',
      truncates: generation.truncation === 'auto',
      ...(answer.functions && { functions: answer.functions }),
      ...(answer.schema && { schema: answer.schema }),
      ...(!allowsParallelCalls(generation) && { maxFunctionCalls: 1 }),
      ...(generation.max_output_tokens != null && { maxTokens: generation.max_output_tokens }),
    };
    checkLength(request, { providerId, contextTokens });
    return request;
  } catch (error) {
    if (!(error instanceof SchemaRefusal)) throw error;
    throw new ProviderError('invalid_prompt', `Provider '${providerId}' has no grammar for a schema.`, {
      disposition: 'fail',
      param: error.param,
      publicMessage: error.message,
    });
  }
}

interface AnswerMembers {
  history: HistoryItem[];
  isChoice: boolean;
  functions?: Functions;
  schema?: GrammarSchema;
}

function answerMembers(generation: Generation, history: HistoryItem[]): AnswerMembers {
  const { tools: callable, demand } = callableTools(generation);
  const tools = callable.map((tool) => (tool.type === 'custom' ? customAsFunction(tool) : tool));
  const format = formatSchema(generation);
  if (demand === 'none') return { history, isChoice: false, ...(format && { schema: format }) };
  const functions = functionsOf(tools);
  if (demand === 'auto' && !format) return { history, isChoice: false, functions };
  const choices: GrammarSchema[] = Object.entries(functions).map(([name, { params }]) =>
    choice({ function: { const: name }, arguments: params }),
  );
  if (demand === 'auto' && format) choices.push(choice({ answer: format }));
  return {
    history: withChoices(history, tools, demand),
    isChoice: true,
    schema: oneOf(choices),
  };
}

const choice = (properties: Record<string, GrammarSchema>): GrammarSchema => ({ type: 'object', properties });

function oneOf(choices: GrammarSchema[]): GrammarSchema {
  const [only, ...others] = choices;
  return only && others.length === 0 ? only : { oneOf: choices };
}

function formatSchema({ text }: Generation): GrammarSchema | undefined {
  const format = echoFormat(text?.format);
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'object', additionalProperties: true };
  return grammarSchema(format.schema, { param: 'text.format.schema', isStrict: format.strict });
}

/** A function can be called even if its schema asks for more than a grammar can hold. */
function functionsOf(tools: readonly FunctionTool[]): Functions {
  return Object.fromEntries(
    tools.map(({ name, description, parameters }, index) => {
      const param = `tools[${index}].parameters`;
      const params = parameters
        ? grammarSchema(parameters, { param, isStrict: false })
        : ({ type: 'object', properties: {} } as const);
      return [name, { ...(description != null && { description }), params }];
    }),
  );
}

/** Chat templates do not tell a model that it has to choose, so a message of the system does. */
function withChoices(
  history: HistoryItem[],
  tools: readonly FunctionTool[],
  demand: 'auto' | 'required',
): HistoryItem[] {
  const lines = [
    'These functions can be called:',
    ...tools.map(({ name, description, parameters }) => JSON.stringify({ name, description, parameters })),
    'Call one with {"function": its name, "arguments": its arguments}.',
    ...(demand === 'auto' ? ['Or answer with {"answer": the answer}.'] : []),
  ];
  const text = lines.join('\n');
  const [first, ...others] = history;
  if (first?.type === 'system') return [{ type: 'system', text: `${first.text}\n\n${text}` }, ...others];
  return [{ type: 'system', text }, ...history];
}

function samplingOf(generation: Generation): Sampling {
  const { temperature, top_p: topP, presence_penalty: presence, frequency_penalty: frequency } = generation;
  return {
    ...samplingDefaults,
    ...(temperature != null && { temperature }),
    ...(topP != null && { topP }),
    repeatPenalty:
      presence || frequency
        ? {
            penalty: 1,
            lastTokens: penaltyTokens,
            presencePenalty: presence ?? 0,
            frequencyPenalty: frequency ?? 0,
          }
        : false,
  };
}

function checkLength(request: LlamaRequest, { providerId, contextTokens }: LlamaRequestOptions): void {
  const { history, functions, truncates } = request;
  const most = contextTokens * charactersPerToken;
  const lengths = history.map((item) => JSON.stringify(item).length);
  let length = lengths.reduce((sum, each) => sum + each, JSON.stringify(functions ?? {}).length);
  const first = history[0]?.type === 'system' ? 1 : 0;
  let dropped = 0;
  while (truncates && length > most && first + dropped < history.length - 1) {
    length -= lengths[first + dropped] ?? 0;
    dropped += 1;
  }
  if (length > most) {
    throw new ProviderError(
      'context_length_exceeded',
      `Provider '${providerId}' was given ${length} characters for a context of ${contextTokens} tokens.`,
      { disposition: 'fail' },
    );
  }
  history.splice(first, dropped);
}
