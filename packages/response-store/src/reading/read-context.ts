import type { InputItem } from '@sluice/contract';
import type { LargeAccess, StoreAccess } from '../record/store-access.ts';
import type { ContextLimits } from '../transitions/accept.ts';
import { readTurn } from './read-turn.ts';
import { type Turn, walk } from './walk.ts';

/** Responses looked at by one script. */
const turnsPerWalk = 100;

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

/**
 * Everything a response continues from: the input and output of each one before it, oldest first.
 *
 * Read when an attempt begins: what was deleted by then is missing, and the response fails rather than run on half of its
 * context. A short context comes with one call. Of any other it is known how long everything is before any of it is read, and
 * it is read page by page.
 */
export async function readContext(
  access: LargeAccess,
  { previousId, tenant }: { previousId: string | undefined; tenant: string },
  limits: ContextLimits,
): Promise<ResponseContext> {
  const before = await walkBack(access, { previousId, tenant, shortBytes: shortContext }, limits);
  if (before.kind !== 'walked') return before;
  const items: InputItem[] = [];
  for (const page of pagesOf(before.turns)) {
    const read = await Promise.all(page.map((turn) => readTurn(access, turn)));
    for (const [at, ofTurn] of read.entries()) {
      if (!ofTurn) return { kind: 'broken', missingId: page[at]?.responseId ?? '' };
      for (const item of ofTurn) items.push(item);
    }
  }
  return { kind: 'whole', items };
}

/** Looks at everything a response continues from, oldest first, and reads none of it unless it is short; see `walk`. */
export async function walkBack(
  access: StoreAccess,
  {
    previousId,
    tenant,
    shortBytes = 0,
  }: { previousId: string | undefined; tenant: string; shortBytes?: number },
  limits: ContextLimits,
): Promise<{ kind: 'walked'; turns: Turn[] } | Exclude<ResponseContext, { kind: 'whole' }>> {
  const turns: Turn[] = [];
  let bytes = 0;
  for (let next = previousId; next !== undefined; ) {
    const walked = await walk(access, { responseId: next, tenant, count: turnsPerWalk, shortBytes });
    turns.push(...walked.turns);
    bytes += walked.turns.reduce((sum, { inputBytes, endBytes }) => sum + inputBytes + endBytes, 0);
    if (turns.length > limits.turns || bytes > limits.bytes) return { kind: 'too_large' };
    next = walked.next;
    if (next !== undefined && walked.turns.length < turnsPerWalk) return { kind: 'broken', missingId: next };
  }
  return { kind: 'walked', turns: turns.toReversed() };
}

function* pagesOf(turns: readonly Turn[]): Generator<Turn[]> {
  let page: Turn[] = [];
  let bytes = 0;
  for (const turn of turns) {
    const more = turn.inputBytes + turn.endBytes;
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
