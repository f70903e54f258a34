import { isResponseId, tokensOfBytes } from '@sluice/contract';
import { parseFields, storedNames } from '../record/fields.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import type { ReferenceProblem } from '../transitions/accept-result.ts';

export type EarlierTokens =
  | { kind: 'found'; tokens: number }
  | Extract<ReferenceProblem, { kind: 'previous_not_found' | 'previous_not_finished' }>;

/**
 * About how many tokens a response of a tenant and all before it are: as many as its upstream counted. It judges as the accept of
 * a response does that continues from it, and reads none of the content however long that is.
 */
export async function earlierTokens(
  access: StoreAccess,
  { responseId, tenant }: { responseId: string; tenant: string },
): Promise<EarlierTokens> {
  if (!isResponseId(responseId)) return { kind: 'previous_not_found' };
  const names = ['tenant', 'stored', 'status', 'context_bytes', 'context_tokens'] as const;
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...storedNames(names));
  const { tenant: owner, stored, status, ...context } = parseFields(names, values);
  if (owner !== tenant || stored !== true || status === undefined) return { kind: 'previous_not_found' };
  if (status !== 'completed' && status !== 'incomplete') return { kind: 'previous_not_finished', status };
  const { context_bytes: bytes, context_tokens: tokens } = context;
  if (bytes === undefined) return { kind: 'previous_not_found' };
  return { kind: 'found', tokens: tokens ?? tokensOfBytes(bytes) };
}
