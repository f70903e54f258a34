import { expect, it } from 'vitest';
import { prepareRequest } from '../prepared-request.ts';
import type { Accepting } from '../transitions/accept.ts';
import type { AcceptResult } from '../transitions/accept-result.ts';
import { acceptInCell } from './accept-in-cell.ts';
import { TenantCells } from './tenant-cells.ts';

const use = { requests: undefined, tokens: undefined };
const refusals: AcceptResult[] = [
  {
    kind: 'over_budget',
    spent: { name: 'tokensPerDay', isOfKey: false, limit: 9, left: 1, isDivided: true },
    use,
  },
  { kind: 'store_share_full', retryAfterMs: 60_000, use },
];

/** The cells that a tenant of two asks next, when the first one has refused a request with a text of this length. */
async function askedNext(refused: AcceptResult, length: number): Promise<number> {
  const cellCounts = { of: () => [], note: () => Promise.resolve(), keyMs: 1 };
  const cells = new TenantCells({
    open: ['0', 's'],
    former: () => [],
    areFormerKnown: () => true,
    cellCounts,
  });
  const ownLimits = { cells: 2 };
  const content = 'x'.repeat(length);
  const prepared = prepareRequest(
    { model: 'm', input: [{ type: 'message', role: 'user', content }] },
    { withDigest: false },
  );
  const limits = { ...ownLimits, service: { queued: 1, queuedBytes: 1 } };
  const accepting = { id: 'create-response_0a', tenant: 'team', limits, ownLimits, cost: 1, prepared };
  // The store says what comes of it, so nothing reads the others.
  await acceptInCell({ accept: () => Promise.resolve(refused) }, accepting as unknown as Accepting, cells);
  return cells.inTurn('team', ownLimits).length;
}

it.each(refusals)(
  'a large request that is refused ($kind) goes to other cells next, and a small one to all',
  async (refused) => {
    expect(await askedNext(refused, 2_000_000)).toBe(1);
    expect(await askedNext(refused, 10)).toBe(2);
  },
);
