import {
  type CreateResponse,
  firstProblem,
  parseCreateResponse,
  type ParseOptions,
  presentMembers,
  ServiceError,
} from '@sluice/contract';
import { inputOf } from './message-input.ts';
import { asMessageError } from './message-params.ts';
import { countMessageTokensSchema, type MessageRequestBody, messageRequestSchema } from './message-schema.ts';

/** How a message is to be delivered, which is no part of its response. */
export interface MessageDelivery {
  /** Whether its caller gets the reasoning of the model, and with its text. Without `thinking` in the request it does not. */
  thinking: 'none' | 'omitted' | 'summarized';
}

export interface ParsedMessage {
  request: CreateResponse;
  delivery: MessageDelivery;
  /** The same error, about the member that the caller wrote. */
  named: (error: ServiceError) => ServiceError;
}

interface MessageOptions extends Pick<ParseOptions, 'hostedTools'> {
  /** Whether the caller has a key with which it can come back for the answer. */
  canReturn?: boolean;
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
export function parseMessageRequest(body: unknown, options: MessageOptions = {}): ParsedMessage {
  const given = withRequired(body, ['model', 'messages', 'max_tokens']);
  const parsed = messageRequestSchema.safeParse(given);
  if (!parsed.success) throw firstProblem(parsed.error, given);
  return parsedOf(parsed.data, options);
}

/**
 * Parses a request to count the tokens of a message.
 *
 * @throws {ServiceError} with a code whose status is 400.
 */
export function parseCountMessageTokens(body: unknown, options: MessageOptions = {}): ParsedMessage {
  const given = withRequired(body, ['model', 'messages']);
  const parsed = countMessageTokensSchema.safeParse(given);
  if (!parsed.success) throw firstProblem(parsed.error, given);
  return parsedOf(parsed.data, options);
}

function withRequired(body: unknown, names: readonly string[]): Record<string, unknown> {
  const given = presentMembers(body);
  const missing = names.find((name) => given[name] === undefined);
  if (missing !== undefined) throw new ServiceError('missing_required_parameter', { param: missing });
  return given;
}

function parsedOf(message: Asked, { canReturn = false, ...options }: MessageOptions): ParsedMessage {
  const { items, paths } = inputOf(message);
  const named = (error: ServiceError) => asMessageError(error, paths);
  try {
    const members = Object.entries({ ...membersOf(message), store: canReturn }).filter(
      ([, value]) => value !== undefined,
    );
    const request = parseCreateResponse({ ...Object.fromEntries(members), input: items }, options);
    return { request: { ...request, ...besidesOf(message) }, delivery: deliveryOf(message), named };
  } catch (error) {
    throw error instanceof ServiceError ? named(error) : error;
  }
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
