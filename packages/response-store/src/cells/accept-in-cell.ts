import { isRefusal, type WindowUse } from '@sluice/admission';
import { largeFrom } from '../large-values.ts';
import type { PreparedRequest } from '../prepared-request.ts';
import type { CallerStore } from '../caller-store.ts';
import { cellOf } from '../record/cells.ts';
import type { Accepting } from '../transitions/accept.ts';
import type { AcceptResult, TenantUse } from '../transitions/accept-result.ts';
import { partOfLimits } from './parts-of-limits.ts';
import type { TenantCells } from './tenant-cells.ts';

/**
 * Accepts a response of a tenant that may be in several cells: with the part of its limits that holds in this one, and with its part of the weight, so
 * that all cells together have what it has.
 */
export async function acceptInCell(
  store: Pick<CallerStore, 'accept'>,
  accepting: Accepting,
  tenantCells: TenantCells,
): Promise<AcceptResult> {
  const { id, tenant, limits, ownLimits, prepared } = accepting;
  const cell = cellOf(id);
  const part = tenantCells.partIn(cell, tenant, ownLimits);
  if (part.of === 1) return store.accept(accepting);
  try {
    const ofCell = partOfLimits(limits, ownLimits, part);
    const result = await store.accept({ ...accepting, limits: ofCell, cost: accepting.cost * part.of });
    if (result.kind === 'rate_limited') tenantCells.usedUp(cell, tenant, result.retryAfterMs);
    else if ((isRefusal(result.kind) || result.kind === 'over_budget') && isLarge(prepared))
      tenantCells.usedUp(cell, tenant, largeAsideMs);
    // The limit that such a request meets is that of one cell.
    if (!('use' in result) || result.kind === 'too_many_tokens') return result;
    return { ...result, use: ofAllCells(result.use, limits) };
  } catch (error) {
    tenantCells.notAnswered(cell);
    throw error;
  }
}

/** How long a tenant whose large request found no room in a cell asks the others first, in milliseconds: it is sent there each time. */
const largeAsideMs = 1_000;

function isLarge({ requestJson, input }: PreparedRequest): boolean {
  return requestJson.length + input.length > largeFrom;
}

/** About where a tenant stands in all of its cells, which have responses in turn. */
function ofAllCells(
  { requests, tokens }: TenantUse,
  { requestsPerMinute, tokensPerMinute }: Accepting['limits'],
): TenantUse {
  return { requests: scaled(requests, requestsPerMinute), tokens: scaled(tokens, tokensPerMinute) };
}

function scaled(use: WindowUse | undefined, limit: number | undefined): WindowUse | undefined {
  if (!use || limit === undefined) return use;
  const left = use.limit > 0 ? use.remaining / use.limit : 0;
  return { ...use, limit, remaining: Math.floor(left * limit) };
}
