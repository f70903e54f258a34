import type { ErrorCode } from '@sluice/contract';

/** Errors that any request of the admin API may meet. */
export const readingErrors = [
  'invalid_request',
  'server_is_overloaded',
  'server_error',
] as const satisfies ErrorCode[];

/** Errors that any request may meet that needs the action token. */
export const actingErrors = [
  ...readingErrors,
  'actions_off',
  'invalid_action_token',
  'rate_limit_exceeded',
  'unsupported_media_type',
  'invalid_json',
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
