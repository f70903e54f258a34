import { type CreateResponse, createResponseSchema, type InputItem, ServiceError } from '@sluice/contract';
import { z } from 'zod';
import { membersOfBody, type Translated, type TranslationOptions } from '../members.ts';

/** How embeddings are to be delivered, which is no part of their response. */
export interface EmbeddingDelivery {
  encoding: 'float' | 'base64';
}

/** Most texts of a request, as at OpenAI. */
const mostInputs = 2048;

/** Longest text, in UTF-16 code units, as in an input of a response. */
const longestText = 10_485_760;

/** Greatest number of a token: vocabularies are far smaller. */
const greatestToken = 2 ** 31 - 1;

const responses = createResponseSchema.shape;
const tokens = z.array(z.int());

export const embeddingRequestSchema = z.object({
  model: responses.model,
  /** A text, or the numbers of its tokens; or a list of one or the other. */
  input: z.union([z.string(), z.array(z.string()), tokens, z.array(tokens)]),
  dimensions: z.int().min(1).max(65_536).optional(),
  encoding_format: z.enum(['float', 'base64']).optional(),
  user: responses.user,
});
/** Its input is checked one by one: the error of a union could not say which text is wrong. */
const members = embeddingRequestSchema.extend({ input: z.unknown() });

/**
 * Parses the body of a request for embeddings into the request of a response.
 *
 * Only the first problem is reported, with the member that it is about. A response is not kept unless its caller can come back.
 *
 * @throws {ServiceError} with a code whose status is 400.
 */
export function parseEmbeddingRequest(
  body: unknown,
  { canReturn = false }: Pick<TranslationOptions, 'canReturn'> = {},
): Translated<EmbeddingDelivery> {
  const {
    model,
    input,
    dimensions,
    encoding_format: encoding,
    user,
  } = membersOfBody(body, members, ['model', 'input']);
  const { form, texts } = inputsOf(input);
  const request: CreateResponse = {
    model,
    input: texts.map(itemOf),
    store: canReturn,
    ...(user !== undefined && { user }),
    embedding: { form, ...(dimensions !== undefined && { dimensions }) },
  };
  return { request, delivery: { encoding: encoding ?? 'float' }, named };
}

function itemOf(text: string): InputItem {
  return { type: 'message', role: 'user', content: text };
}

/** An error that is found later is about the input as a whole, or about a member of the same name. */
function named(error: ServiceError): ServiceError {
  return error;
}

interface Inputs {
  form: 'texts' | 'tokens';
  texts: string[];
}

function inputsOf(input: unknown): Inputs {
  if (typeof input === 'string') return { form: 'texts', texts: [textOf(input, 'input')] };
  if (!Array.isArray(input)) throw wrongInput('input');
  if (input.length === 0) throw new ServiceError('empty_array', { param: 'input' });
  const [first]: unknown[] = input;
  if (typeof first === 'number') return { form: 'tokens', texts: [tokensOf(input, 'input')] };
  if (input.length > mostInputs) {
    const message = `'input' has ${input.length} texts; at most ${mostInputs} are allowed.`;
    throw new ServiceError('array_above_max_length', message, { param: 'input' });
  }
  const isTexts = typeof first === 'string';
  const read = isTexts ? textOf : tokensOf;
  return {
    form: isTexts ? 'texts' : 'tokens',
    texts: input.map((each: unknown, at) => read(each, `input[${at}]`)),
  };
}

function textOf(value: unknown, param: string): string {
  if (typeof value !== 'string') throw wrongInput(param);
  if (value === '') throw new ServiceError('invalid_value', `'${param}' is an empty text.`, { param });
  if (value.length > longestText) {
    const message = `'${param}' has ${value.length} characters; at most ${longestText} are allowed.`;
    throw new ServiceError('string_above_max_length', message, { param });
  }
  return value;
}

function tokensOf(value: unknown, param: string): string {
  if (!Array.isArray(value)) throw wrongInput(param);
  if (value.length === 0) throw new ServiceError('empty_array', { param });
  for (const [at, token] of value.entries()) {
    if (Number.isInteger(token) && token >= 0 && token <= greatestToken) continue;
    const member = `${param}[${at}]`;
    throw new ServiceError('invalid_value', `'${member}' is not the number of a token.`, { param: member });
  }
  return JSON.stringify(value);
}

function wrongInput(param: string): ServiceError {
  const message = `'${param}' must be a text or a list of numbers of tokens, and all inputs of the same kind.`;
  return new ServiceError('invalid_type', message, { param });
}
