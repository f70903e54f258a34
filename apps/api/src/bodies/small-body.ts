import { parsePart, presentMembers, ServiceError } from '@sluice/contract';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { decodeJson, parseJson } from './parse-json.ts';

/** A short body, held to its schema. Without a body it is an empty object, as some clients send none, and a member that is null is absent. */
export function smallBody<Schema extends z.ZodType>(
  schema: Schema,
  example: z.input<Schema>,
  { mostBytes }: { mostBytes: number },
) {
  return {
    schema,
    example,
    parse({ body }: FastifyRequest) {
      if (!(body instanceof Uint8Array)) return parsePart(schema, {});
      if (body.length > mostBytes) throw new ServiceError('request_too_large');
      return parsePart(schema, presentMembers(parseJson(decodeJson(body))));
    },
  };
}
