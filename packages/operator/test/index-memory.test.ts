import { journalKey, type JournalLine, printEntry, responseOfSubject } from '@sluice/journal';
import { eventually, forEachTest, testRedis } from '@sluice/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ResponseIndex } from '../src/index.ts';

const keep = 1_000;

const redis = forEachTest(testRedis);
let index: ResponseIndex;
let deaths: unknown[];
let now: number;
beforeEach(() => {
  deaths = [];
  now = 0;
});

function startIndex(heapMib: number): void {
  index = new ResponseIndex({
    ...{
      redisUrl: () => redis.url,
      keyPrefix: `${redis.prefix}:`,
      settings: { journal: true, keep },
      heapMib,
    },
    onError: (error) => deaths.push(error),
    now: () => now,
  });
  onTestFinished(() => index.stop());
}

const of = { tenant: 't', model: 'm', tier: 'default', mode: 'whole' };

/** A response whose attempts failed again and again, each time with all that an upstream can make a line say. */
function failing(at: number): JournalLine[] {
  const word = 'x'.repeat(256);
  return Array.from({ length: 16 }, (_, attempt): JournalLine[] => [
    {
      ...{ what: 'claimed', at, attempt: attempt + 1, worker: 'w', ...of, acceptedAt: 1_000 + at },
      ...{ host: 'h', pid: 1 },
    },
    {
      what: 'failed',
      at,
      attempt: attempt + 1,
      provider: word,
      code: word,
      upstreamStatus: 500,
      reason: word,
    },
  ]).flat();
}

/** Writes so many responses, each with so many entries. */
async function writeJournal(responses: number, entries: number): Promise<void> {
  const key = journalKey(`${redis.prefix}:{0}:`);
  for (let at = 0; at < responses; at += 1) {
    const subject = `0${String(at).padStart(6, '0')}`;
    const texts = Array.from({ length: entries }, () => printEntry({ subject, lines: failing(at) }));
    const writing = redis.client.pipeline();
    for (const text of texts) writing.xadd(key, '*', 'e', text);
    await writing.exec();
  }
}

const loaded = async () => {
  const { answer, index: state } = await index.query({}, { limit: 5 });
  return state.state === 'ready' && { answer, state };
};

describe('the index of a journal whose responses failed very often', () => {
  it('is read at a small heap, with what began and ended each of them', async () => {
    await writeJournal(300, 16);
    startIndex(48);
    const { answer, state } = await eventually(loaded, { timeoutMs: 150_000 });
    expect(deaths).toEqual([]);
    expect(state).not.toHaveProperty('is_reduced');
    expect(answer.total).toBeGreaterThan(50);
    const [newest] = answer.rows;
    expect(newest).toMatchObject({ id: responseOfSubject('0000299'), attempts: 16 });
    const story = await index.story(newest?.id ?? '', { models: [], position: undefined, now: 1 });
    expect(story?.leftOut).toBeGreaterThan(100);
    expect(story?.attempts.at(-1)).toMatchObject({ attempt: 16, error_code: 'x'.repeat(256) });
  });

  it('rests after a death, longer each time, and keeps fewer rows after one by memory', async () => {
    await writeJournal(1, 1);
    // Too little for anything: it dies as it starts.
    startIndex(1);
    const query = () => index.query({}, { limit: 5 });
    await expect(query()).rejects.toMatchObject({ code: 'server_is_overloaded' });
    expect(deaths).toMatchObject([{ code: 'ERR_WORKER_OUT_OF_MEMORY' }]);
    const rests: number[] = [];
    for (let death = 1; death <= 8; death += 1) {
      const refused = await query().catch((error: { retryAfterMs?: number }) => error);
      rests.push((refused as { retryAfterMs?: number }).retryAfterMs ?? 0);
      // Nobody's question starts it before that.
      expect(deaths).toHaveLength(death);
      expect(index.isRunning).toBe(false);
      expect(() => index.requireRoom()).toThrow('starts again');
      now += rests.at(-1) ?? 0;
      await expect(query()).rejects.toMatchObject({ code: 'server_is_overloaded' });
    }
    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });
});
