import {
  changeProviderSchema,
  createProviderSchema,
  providerListSchema,
  removedProviderSchema,
  storedProviderSchema,
} from '@sluice/contract/admin';
import { z } from 'zod';
import { json, schemaErrors } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, jsonBody, readingRoute } from '../admin-route.ts';

const params = z.object({ id: z.string() });

const example = {
  id: 'vllm-2',
  type: 'openai-chat',
  baseUrl: 'http://10.0.0.12:8000/v1',
  apiKeyVariable: 'UPSTREAM_VLLM_2',
};

export const listAllProviders = readingRoute({
  name: 'listAllProviders',
  method: 'GET',
  path: '/providers',
  summary: 'Every provider that routes may name, without its secrets: where it comes from and its servers.',
  answers: [json(providerListSchema)],
  errors: [],
  handle: (_input, { operator }) => Promise.resolve(operator.providers.list()),
});

export const addProvider = actingRoute({
  name: 'addProvider',
  method: 'POST',
  path: '/providers',
  summary:
    'Stores a provider, in the names of the settings file, for stored models. Its key is in a variable of the workers.',
  body: jsonBody(createProviderSchema, example),
  answers: [json(storedProviderSchema)],
  errors: [...actingErrors, ...schemaErrors],
  handle: ({ body, request }, { operator }) => operator.providers.add(body, askerOf(request)),
});

export const changeProvider = actingRoute({
  name: 'changeProvider',
  method: 'POST',
  path: '/providers/:id',
  summary:
    'Changes members of a stored provider; null takes one away. Responses under way keep what they began with.',
  params,
  body: jsonBody(changeProviderSchema, { baseUrl: 'http://10.0.0.13:8000/v1' }),
  answers: [json(storedProviderSchema)],
  errors: [...actingErrors, ...schemaErrors, 'not_found'],
  handle: ({ params: { id }, body, request }, { operator }) =>
    operator.providers.change(id, body, askerOf(request)),
});

export const removeProvider = actingRoute({
  name: 'removeProvider',
  method: 'POST',
  path: '/providers/:id/remove',
  summary: 'Removes a stored provider that no stored model has a route to.',
  params,
  answers: [json(removedProviderSchema)],
  errors: [...actingErrors, 'invalid_value', 'not_found'],
  handle: ({ params: { id }, request }, { operator }) => operator.providers.remove(id, askerOf(request)),
});
