import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createResponseHeadersSchema,
  listInputItemsQuerySchema,
  listResponsesQuerySchema,
  modelParamsSchema,
  parsePart,
  responseParamsSchema,
  retrieveResponseQuerySchema,
} from './request-parts.ts';
import { ServiceError } from './service-error.ts';

const responseId = `create-response_${'A'.repeat(32)}`;

/** What a part is refused with. */
function refusal(schema: z.ZodType, part: unknown) {
  try {
    parsePart(schema, part);
  } catch (error) {
    if (error instanceof ServiceError) {
      const { code, message, param } = error;
      return { code, message, param };
    }
    throw error;
  }
  return undefined;
}

describe('the query of a list of responses', () => {
  it('has a page of twenty, the newest first', () => {
    expect(parsePart(listResponsesQuerySchema, {})).toEqual({ limit: 20, order: 'desc' });
    expect(
      parsePart(listResponsesQuerySchema, { limit: '7', order: 'desc', after: responseId, x: '1' }),
    ).toEqual({ limit: 7, order: 'desc', after: responseId });
  });

  it.each([
    ['limit', '0', 'integer_below_min_value', "Invalid 'limit': expected a value >= 1."],
    ['limit', '101', 'integer_above_max_value', "Invalid 'limit': expected a value <= 100."],
    ['limit', '-5', 'integer_below_min_value', "Invalid 'limit': expected a value >= 1."],
    ['limit', 'ten', 'invalid_type', "'limit' must be an integer."],
    ['limit', '', 'invalid_type', "'limit' must be an integer."],
    ['limit', '1.0', 'invalid_type', "'limit' must be an integer."],
    ['limit', '9'.repeat(16), 'invalid_type', "'limit' must be an integer."],
    ['limit', ['1', '2'], 'invalid_type', "'limit' must be an integer."],
    ['order', 'asc', 'invalid_value', "'order' must be one of desc."],
    ['order', ['desc', 'desc'], 'invalid_value', "'order' must be one of desc."],
    ['after', 'x', 'invalid_value', "'after' must be the id of a response."],
    ['after', [responseId], 'invalid_value', "'after' must be the id of a response."],
  ])('refuses %s=%j', (param, value, code, message) => {
    expect(refusal(listResponsesQuerySchema, { [param]: value })).toEqual({ code, message, param });
  });
});

describe('the query of a list of input items', () => {
  it('takes both orders and any item', () => {
    expect(parsePart(listInputItemsQuerySchema, {})).toEqual({ limit: 20, order: 'desc', include: [] });
    expect(parsePart(listInputItemsQuerySchema, { order: 'asc', after: 'msg_x' })).toMatchObject({
      order: 'asc',
      after: 'msg_x',
    });
    expect(parsePart(listInputItemsQuerySchema, { after: ['msg_x', 'msg_y'] }).after).toBe('');
  });

  it('names its first problem alone', () => {
    expect(refusal(listInputItemsQuerySchema, { order: 'up', limit: '0', include: 'x' })?.param).toBe(
      'limit',
    );
    expect(refusal(listInputItemsQuerySchema, { order: 'up', include: 'x' })).toEqual({
      code: 'invalid_value',
      message: "'order' must be one of desc, asc.",
      param: 'order',
    });
  });
});

describe('the query of one response', () => {
  const some = 'message.output_text.logprobs';
  const other = 'file_search_call.results';

  it('asks for the whole unless it says otherwise', () => {
    const whole = { include: [], stream: false, include_obfuscation: false };
    expect(parsePart(retrieveResponseQuerySchema, {})).toEqual(whole);
    expect(parsePart(retrieveResponseQuerySchema, { stream: 'false' })).toEqual(whole);
    expect(
      parsePart(retrieveResponseQuerySchema, {
        stream: 'true',
        starting_after: '007',
        include_obfuscation: 'true',
      }),
    ).toEqual({ include: [], stream: true, starting_after: 7, include_obfuscation: true });
  });

  it.each([
    [{ include: some }, [some]],
    [{ 'include[]': some }, [some]],
    [{ 'include[]': [some, other] }, [some, other]],
    [{ 'include[]': some, include: [other] }, [some, other]],
  ])('takes %j', (query, include) => {
    expect(parsePart(retrieveResponseQuerySchema, query).include).toEqual(include);
  });

  it('does not look at a cursor without a stream', () => {
    const { starting_after: cursor } = parsePart(retrieveResponseQuerySchema, { starting_after: 'x' });
    expect(cursor).toBeUndefined();
    expect(refusal(retrieveResponseQuerySchema, { stream: 'yes', starting_after: 'x' })?.param).toBe(
      'stream',
    );
  });

  it.each(['-1', 'x', '9007199254740992', '1.5', '', '1e3', '0x1', ' 1', '1\0', '١', ['1', '2']])(
    'refuses starting_after=%j',
    (value) => {
      expect(refusal(retrieveResponseQuerySchema, { stream: 'true', starting_after: value })).toEqual({
        code: 'invalid_value',
        message: "'starting_after' must be the number of an event: a whole number from 0.",
        param: 'starting_after',
      });
    },
  );

  it.each([
    ['stream', 'yes'],
    ['stream', ''],
    ['stream', 'TRUE'],
    ['stream', ['true', 'true']],
    ['include_obfuscation', '1'],
  ])('refuses %s=%j', (param, value) => {
    expect(refusal(retrieveResponseQuerySchema, { stream: 'true', [param]: value })).toEqual({
      code: 'invalid_value',
      message: `'${param}' must be true or false.`,
      param,
    });
  });

  it('refuses a word that nobody can include, and too many of them', () => {
    expect(refusal(retrieveResponseQuerySchema, { 'include[]': [some, 'all'] })).toEqual({
      code: 'invalid_value',
      message: expect.stringContaining("Invalid value for 'include[1]': expected one of 'reasoning."),
      param: 'include',
    });
    expect(refusal(retrieveResponseQuerySchema, { include: Array.from({ length: 65 }, () => some) })).toEqual(
      {
        code: 'invalid_value',
        message: "Invalid 'include': expected at most 64 items.",
        param: 'include',
      },
    );
  });
});

describe('headers', () => {
  it('may hold a key of 255 visible characters', () => {
    const key = '~'.repeat(255);
    expect(parsePart(createResponseHeadersSchema, { 'idempotency-key': key, host: 'x' })).toEqual({
      'Idempotency-Key': key,
    });
    expect(parsePart(createResponseHeadersSchema, {})).toEqual({});
  });

  it.each(['', 'k'.repeat(256), 'one key', 'one\tkey', 'schlüssel'])('are refused with the key %j', (key) => {
    expect(refusal(createResponseHeadersSchema, { 'idempotency-key': key })).toEqual({
      code: 'invalid_value',
      message: "'Idempotency-Key' must be 1 to 255 visible ASCII characters.",
      param: 'Idempotency-Key',
    });
  });
});

it('every part can be written down as a JSON Schema', () => {
  const parts = [
    createResponseHeadersSchema,
    listInputItemsQuerySchema,
    listResponsesQuerySchema,
    modelParamsSchema,
    responseParamsSchema,
    retrieveResponseQuerySchema,
  ];
  for (const part of parts) expect(z.toJSONSchema(part, { io: 'input' })).toMatchObject({ type: 'object' });
  expect(z.toJSONSchema(retrieveResponseQuerySchema, { io: 'input' })).toMatchObject({
    properties: {
      stream: { type: 'boolean', default: false },
      starting_after: { type: 'integer', minimum: 0 },
    },
  });
});
