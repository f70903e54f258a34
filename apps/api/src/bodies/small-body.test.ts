import { createBatchSchema, testWebhookEndpointSchema, updateWebhookEndpointSchema } from '@sluice/contract';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { smallBody } from './small-body.ts';

function parsed<Schema extends z.ZodType>(
  schema: Schema,
  example: z.input<Schema>,
  body: unknown,
): z.output<Schema> {
  const bytes = Buffer.from(JSON.stringify(body));
  const request: unknown = { body: bytes };
  return smallBody(schema, example, { mostBytes: 1_000 }).parse(request as FastifyRequest);
}

const batch = { input_file_id: 'file-a', endpoint: '/v1/responses', completion_window: '24h' } as const;

describe('a small body', () => {
  it('has no members that are null', () => {
    const nulls = { metadata: null, output_expires_after: null };
    expect(parsed(createBatchSchema, batch, { ...batch, ...nulls })).toEqual(batch);
    const update = { name: 'a', url: null, event_types: null };
    expect(parsed(updateWebhookEndpointSchema, {}, update)).toEqual({ name: 'a' });
  });

  it('is told of one that is missing, also if it is null', () => {
    const example = { event_type: 'batch.completed' } as const;
    expect(() => parsed(testWebhookEndpointSchema, example, { event_type: null })).toThrow(
      expect.objectContaining({ code: 'missing_required_parameter', param: 'event_type' }),
    );
  });

  it('is an object', () => {
    for (const body of [[], 'x', null])
      expect(() => parsed(updateWebhookEndpointSchema, {}, body)).toThrow(
        expect.objectContaining({ code: 'invalid_type' }),
      );
  });
});
