import type { InputItem } from '@sluice/contract';
import { keysOf, type LargeAccess, type StoreAccess } from '../record/store-access.ts';
import type { ContextLimits } from '../transitions/accept.ts';
import { type KeptTurn, KeptTurns } from './kept-turns.ts';
import { readTurn } from './read-turn.ts';
import { type Turn, walk } from './walk.ts';

/** Responses looked at by one script, and by the first one where it may soon meet a turn that is kept. */
const turnsPerWalk = 100;
const turnsToKept = 8;

/** A context of at most so many bytes comes along when it is looked at. */
const shortContext = 256 * 1024;

/** Read at once: so many bytes of short turns, or one longer turn. */
const pageBytes = 1024 * 1024;

export type ResponseContext =
  | { kind: 'whole'; items: InputItem[] }
  /** A response on the way back is gone. */
  | { kind: 'broken'; missingId: string }
  /** More than may be read. The accept refuses that; the limits were lowered since. */
  | { kind: 'too_large' };

/** The response that another one continues from, and whose it is. */
interface Before {
  previousId: string | undefined;
  tenant: string;
}

/**
 * Everything a response continues from: the input and output of each one before it, oldest first.
 *
 * Read when an attempt begins: what was deleted by then is missing, and the response fails rather than run on half of its
 * context. Turns that are kept are only asked for, all by one command. A short context comes with one call. Of any other it is
 * known how long everything is before any of it is read, and it is read page by page.
 */
export async function readContext(
  access: LargeAccess,
  before: Before,
  { limits, kept }: { limits: ContextLimits; kept: KeptTurns },
): Promise<ResponseContext> {
  const walked = await walkBack(access, { ...before, shortBytes: shortContext, kept }, limits);
  if (walked.kind !== 'walked') return walked;
  const { turns } = walked;
  const [areThere, context] = await Promise.all([
    areAllThere(access, turns),
    readTurns(access, before.tenant, { turns, kept }),
  ]);
  if (areThere) return context;
  // Some are deleted. The store knows which.
  for (const { responseId } of turns) kept.drop(responseId);
  return readContext(access, before, { limits, kept: new KeptTurns() });
}

async function readTurns(
  access: LargeAccess,
  tenant: string,
  { turns, kept }: { turns: readonly WalkedTurn[]; kept: KeptTurns },
): Promise<ResponseContext> {
  const items: InputItem[] = [];
  let previousId: string | undefined;
  for (const page of pagesOf(turns)) {
    const read = await Promise.all(page.map((turn) => itemsOf(access, turn)));
    for (const [at, turn] of page.entries()) {
      const ofTurn = read[at];
      if (!ofTurn) return { kind: 'broken', missingId: turn.responseId };
      for (const item of ofTurn) items.push(item);
      if (!turn.items) kept.keep({ ...withoutContent(turn), tenant, previousId, items: ofTurn });
      previousId = turn.responseId;
    }
  }
  return { kind: 'whole', items };
}

/** A turn as the store tells of it, or as it is kept. */
type WalkedTurn = Turn & Partial<Pick<KeptTurn, 'items'>>;

async function itemsOf(access: LargeAccess, turn: WalkedTurn): Promise<readonly InputItem[] | undefined> {
  return turn.items ?? readTurn(access, turn);
}

function withoutContent({ content: _, ...turn }: WalkedTurn): Turn {
  return turn;
}

/** Whether the store still has the turns that were not read from it. */
async function areAllThere(access: StoreAccess, turns: readonly WalkedTurn[]): Promise<boolean> {
  const records = turns
    .filter(({ items }) => items)
    .map(({ responseId }) => keysOf(access, responseId).record);
  return records.length === 0 || (await access.redis.exists(...records)) === records.length;
}

/** Looks at everything a response continues from, oldest first, and reads none of it unless it is short; see `walk`. */
export async function walkBack(
  access: StoreAccess,
  { previousId, tenant, shortBytes = 0, kept }: Before & { shortBytes?: number; kept?: KeptTurns },
  limits: ContextLimits,
): Promise<{ kind: 'walked'; turns: WalkedTurn[] } | Exclude<ResponseContext, { kind: 'whole' }>> {
  const turns: WalkedTurn[] = [];
  let bytes = 0;
  let count = kept?.isEmpty === false ? turnsToKept : turnsPerWalk;
  for (let next = previousId; next !== undefined; ) {
    const found = kept?.find(next, tenant);
    const walked = found
      ? { turns: [found], next: found.previousId }
      : await walk(access, { responseId: next, tenant, count, shortBytes });
    turns.push(...walked.turns);
    bytes += walked.turns.reduce((sum, { inputBytes, endBytes }) => sum + inputBytes + endBytes, 0);
    if (turns.length > limits.turns || bytes > limits.bytes) return { kind: 'too_large' };
    next = walked.next;
    if (found) continue;
    if (next !== undefined && walked.turns.length < count) return { kind: 'broken', missingId: next };
    count = turnsPerWalk;
  }
  return { kind: 'walked', turns: turns.toReversed() };
}

function* pagesOf(turns: readonly WalkedTurn[]): Generator<WalkedTurn[]> {
  let page: WalkedTurn[] = [];
  let bytes = 0;
  for (const turn of turns) {
    const more = turn.items ? 0 : turn.inputBytes + turn.endBytes;
    if (page.length > 0 && (bytes + more > pageBytes || page.length === turnsPerWalk)) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(turn);
    bytes += more;
  }
  if (page.length > 0) yield page;
}
