import { type ErrorCode, parsePart } from '@sluice/contract';
import type { Asker } from '@sluice/operator';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { bodyErrors, defineRoute, type Route, type RouteDefinition } from '../../route.ts';
import type { AdminContext } from './admin-context.ts';

/** Errors that any request of the admin API may meet. */
export const readingErrors = [
  'invalid_request',
  'server_is_overloaded',
  'server_error',
] as const satisfies ErrorCode[];

/** Errors that any request may meet that needs the action token. */
export const actingErrors = [
  ...readingErrors,
  ...bodyErrors,
  'actions_off',
  'invalid_action_token',
  'rate_limit_exceeded',
] as const satisfies ErrorCode[];

/** A route of the admin API. */
export interface AdminRoute extends Route<AdminContext> {
  /** Whether it needs the action token, because it changes something or shows content. */
  readonly acts: boolean;
}

/** A route that anybody may ask who may see the listener. */
export function readingRoute<Params = undefined, Query = undefined>(
  definition: RouteDefinition<AdminContext, Params, Query, undefined, undefined>,
): AdminRoute {
  return { ...defineRoute(definition), acts: false };
}

/** A route that changes something, or shows content. */
export function actingRoute<Params = undefined, Query = undefined, Body = undefined>(
  definition: RouteDefinition<AdminContext, Params, Query, undefined, Body>,
): AdminRoute {
  return { ...defineRoute(definition), acts: true };
}

/** The operator behind a request, as the audit log names him. */
export function askerOf({ raw }: FastifyRequest): Asker {
  return { address: raw.socket.remoteAddress ?? '' };
}

/** The body of an acting route, held to its schema. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema, example: z.input<Schema>) {
  return { schema, example, parse: ({ body }: FastifyRequest) => parsePart(schema, body) };
}
