import {
  costPageSchema,
  costQuerySchema,
  type ErrorCode,
  ServiceError,
  usagePageSchema,
  usageQuerySchema,
} from '@sluice/contract';
import type { ApiUsage } from '../api-usage.ts';
import { anyErrors, defineRoute, json } from '../route.ts';

export interface UsageContext {
  /** Undefined where usage is not counted. */
  usage: Pick<ApiUsage, 'page' | 'costs'> | undefined;
}

/** Errors of a question for usage, wherever it is asked. */
export const usageErrors = [
  'missing_required_parameter',
  'invalid_type',
  'invalid_value',
  'integer_below_min_value',
  'integer_above_max_value',
  'string_above_max_length',
  'array_above_max_length',
  'usage_off',
  'usage_unavailable',
] as const satisfies ErrorCode[];

export function usageOf({ usage }: UsageContext): Pick<ApiUsage, 'page' | 'costs'> {
  if (!usage) throw new ServiceError('usage_off');
  return usage;
}

export const listUsage = defineRoute({
  name: 'listUsage',
  method: 'GET',
  path: '/organization/usage/completions',
  summary: "What the tenant's responses took, in buckets of an hour or a day, by the time of their ends.",
  query: usageQuerySchema,
  answers: [json(usagePageSchema)],
  errors: [...anyErrors, ...usageErrors],
  handle: ({ query, request }, context: UsageContext) =>
    usageOf(context).page(query, { tenant: request.key.name }),
});

export const listCosts = defineRoute({
  name: 'listCosts',
  method: 'GET',
  path: '/organization/costs',
  summary:
    "What the tenant's responses cost by the prices of their models, in buckets of a day, by the time of their ends.",
  query: costQuerySchema,
  answers: [json(costPageSchema)],
  errors: [...anyErrors, ...usageErrors],
  handle: ({ query, request }, context: UsageContext) =>
    usageOf(context).costs(query, { tenant: request.key.name }),
});
