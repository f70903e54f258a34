import type { LargeAccess } from '../record/store-access.ts';
import type { ContextLimits } from '../transitions/accept.ts';
import { type ItemPart, locateInput } from './item-parts.ts';
import { type ResponseContext, walkBack } from './read-context.ts';

export type ContextInputs =
  | { kind: 'located'; earlier: ItemPart[]; own: ItemPart }
  | Exclude<ResponseContext, { kind: 'whole' }>;

/**
 * Where the inputs are that a response was made of: its own, and those of all that it continues from, oldest first. For who
 * created it and has not left it: it need not be stored.
 */
export async function locateContextInputs(
  access: LargeAccess,
  { responseId, previousId, tenant }: { responseId: string; previousId: string | undefined; tenant: string },
  limits: ContextLimits,
): Promise<ContextInputs> {
  const own = await locateInput(access, responseId, { tenant, isOwn: true });
  if (!own) return { kind: 'broken', missingId: responseId };
  const before = await walkBack(access, { previousId, tenant }, limits);
  if (before.kind !== 'walked') return before;
  const earlier = before.turns.map((turn) => ({ turn, isInput: true, bytes: turn.inputBytes }));
  return { kind: 'located', earlier, own };
}
