import {
  adminModelListSchema,
  changeModelSchema,
  createModelSchema,
  removedModelSchema,
  removeModelSchema,
  storedModelSchema,
} from '@sluice/contract/admin';
import { z } from 'zod';
import { json, schemaErrors } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, jsonBody, readingRoute } from '../admin-route.ts';

/** A slash in the id is written as `%2F`. */
const params = z.object({ id: z.string() });

const example = { id: 'qwen3-8b', routes: [{ provider: 'vllm', model: 'Qwen/Qwen3-8B' }], concurrency: 16 };

export const listAllModels = readingRoute({
  name: 'listAllModels',
  method: 'GET',
  path: '/models',
  summary: 'Every model that clients may name: where it comes from, its routes, and its queue.',
  answers: [json(adminModelListSchema)],
  errors: ['server_is_overloaded'],
  handle: (_input, { operator }) => operator.models.list(),
});

export const addModel = actingRoute({
  name: 'addModel',
  method: 'POST',
  path: '/models',
  summary: 'Stores a model, in the names of the settings file. Every process offers it within seconds.',
  body: jsonBody(createModelSchema, example),
  answers: [json(storedModelSchema)],
  errors: [...actingErrors, ...schemaErrors],
  handle: ({ body, request }, { operator }) => operator.models.add(body, askerOf(request)),
});

export const changeModel = actingRoute({
  name: 'changeModel',
  method: 'POST',
  path: '/models/:id',
  summary:
    'Changes members of a stored model; null takes one away. Responses under way keep what they began with.',
  params,
  body: jsonBody(changeModelSchema, { concurrency: 32 }),
  answers: [json(storedModelSchema)],
  errors: [...actingErrors, ...schemaErrors, 'not_found'],
  handle: ({ params: { id }, body, request }, { operator }) =>
    operator.models.change(id, body, askerOf(request)),
});

export const removeModel = actingRoute({
  name: 'removeModel',
  method: 'POST',
  path: '/models/:id/remove',
  summary: 'Removes a stored model. What waits for it is served, or cancelled where `queue` is drain.',
  params,
  body: jsonBody(removeModelSchema, { queue: 'keep' as const }),
  answers: [json(removedModelSchema)],
  errors: [...actingErrors, ...schemaErrors, 'not_found', 'act_under_way'],
  handle: ({ params: { id }, body, request }, { operator }) =>
    operator.models.remove(id, body, askerOf(request)),
});
