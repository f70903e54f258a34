import type { z } from 'zod';
import { createResponseSchema } from './create-response.ts';
import { firstProblem } from './first-problem.ts';
import { hostedRequest } from './hosted-tools.ts';
import { normalizeInput } from './items.ts';
import {
  checkAvailable,
  type CreateResponse,
  type ParseOptions,
  presentMembers,
} from './parse-create-response.ts';
import { ServiceError } from './service-error.ts';

/** Requests about a context for which no response is created: to count its tokens, and to compact it. */

/** The members of a create request that say what a model is given. All may be absent. */
export const countInputTokensSchema = createResponseSchema
  .pick({
    model: true,
    input: true,
    instructions: true,
    previous_response_id: true,
    conversation: true,
    tools: true,
    tool_choice: true,
    text: true,
    reasoning: true,
    truncation: true,
    parallel_tool_calls: true,
  })
  .partial();

/** Other members are ignored: OpenAI's clients send some that only choose a price or a cache. */
export const compactResponseSchema = createResponseSchema
  .pick({ model: true, input: true, instructions: true, previous_response_id: true, prompt_cache_key: true })
  .partial({ input: true });

/**
 * Parses the body of a request to count tokens. An absent model is an empty text, which names none.
 *
 * @throws {ServiceError} with a code whose status is 400, and the `param` it is about.
 */
export function parseCountInputTokens(
  body: unknown,
  { hostedTools = {} }: Pick<ParseOptions, 'hostedTools'> = {},
): CreateResponse {
  const given = presentMembers(body);
  const { model = '', input = [], ...rest } = parseMembers(countInputTokensSchema, given);
  // Only their upstream knows how many tokens their descriptions take.
  hostedRequest(given, hostedTools);
  checkAvailable(rest);
  return { ...rest, model, input: normalizeInput(input) };
}

/**
 * Parses the body of a request to compact a conversation.
 *
 * @throws {ServiceError} with a code whose status is 400, and the `param` it is about.
 */
export function parseCompactResponse(body: unknown): CreateResponse {
  const given = presentMembers(body);
  const { previous_response_id: previous } = given;
  if (given['model'] === undefined) throw new ServiceError('missing_required_parameter', { param: 'model' });
  if (given['input'] === undefined && previous === undefined) {
    throw new ServiceError('missing_required_parameter', { param: 'input' });
  }
  const { input = [], ...rest } = parseMembers(compactResponseSchema, given);
  if (input.length === 0 && previous === undefined && typeof input !== 'string') {
    throw new ServiceError('empty_array', { param: 'input' });
  }
  return { ...rest, input: normalizeInput(input) };
}

function parseMembers<Schema extends z.ZodType>(
  schema: Schema,
  given: Record<string, unknown>,
): z.output<Schema> {
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw firstProblem(parsed.error, given);
  return parsed.data;
}
