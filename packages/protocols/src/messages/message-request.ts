import { longestToolName, type ServiceError } from '@sluice/contract';
import { cachingOf, type MarkAt, markAt } from '../cache-marks.ts';
import { checkedRequest, membersOfBody, type Translated, type TranslationOptions } from '../members.ts';
import { inputOf, type MessageInput } from './message-input.ts';
import { asMessageError } from './message-params.ts';
import { countMessageTokensSchema, type MessageRequestBody, messageRequestSchema } from './message-schema.ts';

/** How a message is to be delivered, which is no part of its response. */
export interface MessageDelivery {
  /** Whether its caller gets the reasoning of the model, and with its text. Without `thinking` in the request it does not. */
  thinking: 'none' | 'omitted' | 'summarized';
}

/** A request to count has fewer members. */
type Asked = Partial<MessageRequestBody> & Pick<MessageRequestBody, 'model' | 'messages'>;

/**
 * Parses the body of a message into the request of a response.
 *
 * Only the first problem is reported, with the member of the message that it is about. What has no place in a response is
 * refused. A response is not kept unless its caller can come back: a message is not read again.
 *
 * @throws {ServiceError} with a code whose status is 400.
 */
export function parseMessageRequest(
  body: unknown,
  options: TranslationOptions = {},
): Translated<MessageDelivery> {
  return translated(membersOfBody(body, messageRequestSchema, ['model', 'messages', 'max_tokens']), options);
}

/**
 * Parses a request to count the tokens of a message.
 *
 * @throws {ServiceError} with a code whose status is 400.
 */
export function parseCountMessageTokens(
  body: unknown,
  options: TranslationOptions = {},
): Translated<MessageDelivery> {
  return translated(membersOfBody(body, countMessageTokensSchema, ['model', 'messages']), options);
}

function translated(
  message: Asked,
  { canReturn = false, ...options }: TranslationOptions,
): Translated<MessageDelivery> {
  const given = inputOf(message);
  const { items: input, paths } = given;
  const named = (error: ServiceError) => asMessageError(error, paths);
  const bounds = { ...options, longestToolName: longestToolName.messages };
  const request = checkedRequest({ ...membersOf(message), store: canReturn, input }, bounds, named);
  const besides = { ...besidesOf(message), ...cachingOf(marksOf(message, given)) };
  return { request: { ...request, ...besides }, delivery: deliveryOf(message), named };
}

/** The members of the response that are checked as such. */
function membersOf(message: Asked): Record<string, unknown> {
  const { model, stream, temperature, top_p, tools, tool_choice: choice, output_config: output } = message;
  const { thinking } = deliveryOf(message);
  return {
    model,
    stream,
    temperature,
    top_p,
    tools: tools?.map(({ name, description, input_schema: parameters, strict }) => ({
      type: 'function',
      name,
      description,
      parameters,
      strict,
    })),
    tool_choice: choice && choiceOf(choice),
    ...(choice && 'disable_parallel_tool_use' in choice && parallelOf(choice)),
    ...(output?.format && {
      text: {
        format: { type: 'json_schema', name: 'output', schema: output.format.schema, strict: true },
      },
    }),
    ...reasoningOf(message),
    ...(thinking !== 'none' && { include: ['reasoning.encrypted_content'] }),
    user: message.metadata?.user_id ?? undefined,
    service_tier: message.service_tier === 'standard_only' ? 'default' : message.service_tier,
  };
}

/** Members that a request of a response does not have, or has with other bounds. */
function besidesOf({ max_tokens: most, stop_sequences: stop }: Asked) {
  return {
    ...(most !== undefined && { max_output_tokens: most }),
    ...(stop !== undefined && stop.length > 0 && { stop }),
  };
}

/** The marks for caches, in the order in which Anthropic's models read a prompt: tools, the system, messages. */
function marksOf({ tools = [], cache_control: ofAll }: Asked, { marks, paths }: MessageInput): MarkAt[] {
  const ofTools = tools.flatMap((tool, index) =>
    markAt({ at: 'tool', index }, tool.cache_control, `tools[${index}]`),
  );
  const index = paths.length - 1;
  const lastPart = (paths.at(-1)?.parts.length ?? 0) - 1;
  const isMarked = marks.some(
    ({ breakpoint: mark }) =>
      mark.at === 'input' && mark.index === index && (mark.part ?? lastPart) === lastPart,
  );
  return [...ofTools, ...marks, ...(isMarked ? [] : markAt({ at: 'input', index }, ofAll, ''))];
}

type Choice = NonNullable<Asked['tool_choice']>;

function choiceOf(choice: Choice): unknown {
  if (choice.type === 'tool') return { type: 'function', name: choice.name };
  return choice.type === 'any' ? 'required' : choice.type;
}

function parallelOf({ disable_parallel_tool_use: isSingle }: Exclude<Choice, { type: 'none' }>) {
  return isSingle === true ? { parallel_tool_calls: false } : {};
}

/** A budget of so many tokens at most is an effort. */
const efforts = [
  { budget: 4096, effort: 'low' },
  { budget: 16_384, effort: 'medium' },
  { budget: Number.POSITIVE_INFINITY, effort: 'high' },
] as const;

/** How much a model is to think, and that it is to say what. An effort by its name goes before a budget. */
function reasoningOf(message: Asked): { reasoning?: object } {
  const { thinking, output_config: output } = message;
  const isOff = thinking?.type === 'disabled';
  const budget = thinking?.type === 'enabled' ? thinking.budget_tokens : undefined;
  const ofBudget = budget === undefined ? undefined : efforts.find((each) => budget <= each.budget)?.effort;
  const effort = isOff ? 'none' : (output?.effort ?? ofBudget);
  const isShown = deliveryOf(message).thinking === 'summarized';
  if (effort === undefined && !isShown) return {};
  return { reasoning: { ...(effort && { effort }), ...(isShown && { summary: 'auto' }) } };
}

function deliveryOf({ thinking }: Asked): MessageDelivery {
  if (!thinking || thinking.type === 'disabled') return { thinking: 'none' };
  return { thinking: thinking.display ?? 'summarized' };
}
