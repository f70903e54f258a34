import { type ErrorCode, parsePart } from '@sluice/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Protocol } from './protocol.ts';

/** A route without its handler. A document of the API can be made from a list of these. */
export interface RouteDescription {
  /** Tells it apart in the document of the API, and in clients that are made from that. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below the mount; `:name` and `*` stand for what `params` names. */
  readonly path: string;
  /** One sentence. */
  readonly summary: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  /** For a body that is a form with a file, which the handler reads: the other parts of the form. */
  readonly form?: { readonly schema: z.ZodType };
  /** Whether it creates nothing although it takes a body: it counts as a read then. */
  readonly isRead?: boolean;
  readonly answers: readonly Answer[];
  /** Every code that the route can be refused with. */
  readonly errors: readonly ErrorCode[];
  /** The Responses API by default. */
  readonly protocol?: Protocol;
}

/** A good answer. */
export interface Answer {
  readonly status: number;
  /** When it is given; the status says it unless this does. */
  readonly description?: string;
  /** Absent for an answer without a body. `schema` describes the body, or one event of a stream. */
  readonly content?: {
    readonly mediaType: 'application/json' | 'text/event-stream';
    readonly schema: z.ZodType;
  };
  /** Headers that belong to this answer alone, each with what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A route that can be registered wherever there is what its handler works with. */
export interface Route<Context> extends RouteDescription {
  readonly answer: (request: FastifyRequest, reply: FastifyReply, context: Context) => unknown;
}

/** The argument of a handler: each part that the route describes, parsed, and `undefined` for each other one. */
export interface RouteInput<Params, Query, Headers, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface RouteDefinition<Context, Params, Query, Headers, Body> extends RouteDescription {
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  readonly headers?: z.ZodType<Headers>;
  /** The parser may check more than the schema says, and gives the handler its value. It finds the bytes in `request.body`. */
  readonly body?: {
    readonly schema: z.ZodType;
    readonly example: unknown;
    readonly parse: (request: FastifyRequest, context: Context) => Body | Promise<Body>;
  };
  /** Answers a request whose parts are sound. The type of `context` says what the handler works with. */
  readonly handle: (input: RouteInput<Params, Query, Headers, Body>, context: Context) => unknown;
}

/**
 * A route as its file exports it. Its parts are parsed before the handler runs: body, headers, query, params. The first
 * problem is the answer.
 */
export function defineRoute<
  Context,
  Params = undefined,
  Query = undefined,
  Headers = undefined,
  Body = undefined,
>({ handle, ...description }: RouteDefinition<Context, Params, Query, Headers, Body>): Route<Context> {
  const { params, query, headers, body } = description;
  return {
    ...description,
    async answer(request, reply, context) {
      const input = {
        body: await body?.parse(request, context),
        headers: headers && parsePart(headers, request.headers),
        query: query && parsePart(query, request.query),
        params: params && parsePart(params, request.params),
        request,
        reply,
      };
      // A part without a schema is undefined, as its type is then.
      return handle(input as RouteInput<Params, Query, Headers, Body>, context);
    },
  };
}

export function registerRoute<Context>(app: FastifyInstance, route: Route<Context>, context: Context): void {
  const { method, path, answer, body, form, isRead = false, protocol } = route;
  app.route({
    method,
    url: path,
    config: {
      takesBody: body !== undefined,
      takesForm: form !== undefined,
      isRead,
      ...(protocol && { protocol }),
    },
    handler: (request, reply) => answer(request, reply, context),
  });
}

export function json(
  schema: z.ZodType,
  { status = 200, ...more }: Partial<Pick<Answer, 'status' | 'headers' | 'description'>> = {},
): Answer {
  return { status, content: { mediaType: 'application/json', schema }, ...more };
}

export function eventStream(schema: z.ZodType): Answer {
  return { status: 200, content: { mediaType: 'text/event-stream', schema } };
}

export function empty(status: number, description: string, headers: Answer['headers'] = {}): Answer {
  return { status, description, headers };
}

/** Errors that any request at a mount may meet, whatever its route. */
export const anyErrors = [
  'invalid_request',
  'invalid_api_key',
  'upgrade_required',
  'rate_limit_exceeded',
  'server_is_overloaded',
  'server_error',
] as const satisfies ErrorCode[];

/** Errors of a question for one page of a list. */
export const pageErrors = [
  'invalid_type',
  'invalid_value',
  'integer_below_min_value',
  'integer_above_max_value',
] as const satisfies ErrorCode[];

/** Errors that any request with a body may meet besides. */
export const bodyErrors = [
  'invalid_json',
  'unsupported_media_type',
  'request_too_large',
] as const satisfies ErrorCode[];

/** Errors of a body or a query by its schema. */
export const schemaErrors = [
  'missing_required_parameter',
  'invalid_type',
  'invalid_value',
  'integer_below_min_value',
  'integer_above_max_value',
  'decimal_below_min_value',
  'decimal_above_max_value',
  'string_above_max_length',
  'array_above_max_length',
  'unsupported_parameter',
] as const satisfies ErrorCode[];
