import { admissionFragments } from '@sluice/admission';
import type { Cell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';

const surveyScript = defineScript({
  by: 'rescue',
  writes: ['left_at', 'tag'],
  file: new URL('../../src/rescue/survey.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('clock', 'absence', 'let-in')],
  keys: ['open', 'load'],
  args: ['again_ms', 'log_prefix', 'large_prefix'],
  numbers: ['again_ms'],
});

const kinds = [
  'vanished',
  'gone',
  'unknown_version',
  'cancelled',
  'expired',
  'unqueued',
  'overdue',
  'stopping',
  'held',
  'left_out',
  'queued',
  'in_progress',
] as const;

/** The state of a response without an end; see survey.lua for the kinds. */
export interface Finding {
  responseId: string;
  kind: (typeof kinds)[number];
  queue: string;
  /** How long ago it was accepted, in milliseconds. */
  ageMs: number;
}

/**
 * A page of the responses without an end, in the order in which their time runs out.
 *
 * Pages go by rank: while the set changes a page may skip some, which the next pass over the set finds.
 */
export async function survey(
  access: StoreAccess,
  cell: Cell,
  page: { offset: number; count: number },
): Promise<Finding[]> {
  const { open } = access.keys.inCell(cell);
  return look(
    access,
    cell,
    await access.redis.zrange(open, String(page.offset), String(page.offset + page.count - 1)),
    '',
  );
}

/** A response that is due and still open is looked at again after this long, in milliseconds. */
const lookAgainMs = 1_000;

/** Responses whose time has run out by `now`: they have waited for as long as they may, or run for as long. */
export async function surveyDue(
  access: StoreAccess,
  cell: Cell,
  { now, count }: { now: number; count: number },
): Promise<Finding[]> {
  const { open } = access.keys.inCell(cell);
  const ids = await access.redis.zrangebyscore(open, '-inf', now, 'LIMIT', 0, count);
  return look(access, cell, ids, lookAgainMs);
}

/** When the next response is due, by the store's clock in milliseconds; undefined when none is open. */
export async function nextDue(access: StoreAccess, cell: Cell): Promise<number | undefined> {
  const [, score] = await access.redis.zrange(access.keys.inCell(cell).open, '0', '0', 'WITHSCORES');
  return score === undefined ? undefined : Number(score);
}

async function look(
  { redis, keys }: StoreAccess,
  cell: Cell,
  ids: readonly string[],
  againMs: number | '',
): Promise<Finding[]> {
  if (ids.length === 0) return [];
  const ofCell = keys.inCell(cell);
  const reply = await surveyScript(redis, {
    keys: { open: ofCell.open, load: ofCell.load },
    args: { again_ms: againMs, log_prefix: ofCell.log(''), large_prefix: ofCell.large('') },
    moreKeys: ids.map((id) => ofCell.record(id)),
    moreArgs: ids,
  });
  const [now, ...words] = textReply(reply);
  return ids.map((responseId, at) => ({
    responseId,
    kind: findingKind(words[at * 3]),
    queue: words[at * 3 + 1] ?? '',
    ageMs: Number(now) - Number(words[at * 3 + 2]),
  }));
}

function findingKind(word: string | undefined): Finding['kind'] {
  const kind = kinds.find((each) => each === word);
  if (!kind) throw new TypeError(`The survey script answered '${String(word)}'`);
  return kind;
}
