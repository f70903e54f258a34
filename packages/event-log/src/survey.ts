import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript, textReply } from './script.ts';

const surveyScript = loadScript(
  new URL('../src/record.lua', import.meta.url),
  new URL('../src/survey.lua', import.meta.url),
);

/** What stands in a record that has no end yet; see survey.lua for the kinds. */
export interface Finding {
  responseId: string;
  kind: 'gone' | 'cancelled' | 'expired' | 'unqueued' | 'overdue' | 'queued' | 'in_progress';
  queue: string;
  /** How long ago it was accepted, in milliseconds. */
  ageMs: number;
}

/**
 * A page of the responses without an end, oldest first.
 *
 * Pages go by rank: while the set shrinks a page may skip some, which the next round over the set finds.
 */
export async function survey(
  redis: Redis,
  keys: RedisKeys,
  page: { offset: number; count: number },
): Promise<Finding[]> {
  const rows = await redis.zrange(
    keys.open,
    String(page.offset),
    String(page.offset + page.count - 1),
    'WITHSCORES',
  );
  const entries = Array.from({ length: rows.length / 2 }, (_, at) => ({
    responseId: rows[at * 2] ?? '',
    acceptedAt: Number(rows[at * 2 + 1]),
  }));
  const ids = entries.map(({ responseId }) => responseId);
  const [now, ...words] = textReply(
    await surveyScript(redis, [keys.open, keys.load, ...ids.map((id) => keys.record(id))], ids),
  );
  return entries.map(({ responseId, acceptedAt }, at) => ({
    responseId,
    kind: findingKind(words[at * 2]),
    queue: words[at * 2 + 1] ?? '',
    ageMs: Number(now) - acceptedAt,
  }));
}

function findingKind(word: string | undefined): Finding['kind'] {
  switch (word) {
    case 'gone':
    case 'cancelled':
    case 'expired':
    case 'unqueued':
    case 'overdue':
    case 'queued':
    case 'in_progress':
      return word;
    default:
      throw new TypeError(`The survey script answered '${String(word)}'`);
  }
}
