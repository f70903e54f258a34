import { forEachTest, testRedis } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { AuditLog, type NewAuditEntry } from '../src/audit/audit-log.ts';

const redis = forEachTest(testRedis);

const logOf = (most?: number) =>
  new AuditLog({
    connection: redis.client,
    keyPrefix: `${redis.prefix}:{0}:`,
    ...(most !== undefined && { most }),
  });

const targets = async (log: AuditLog) =>
  (await log.page({ before: undefined, limit: 200 })).entries.map(({ target }) => target);

const entry = (target: string): NewAuditEntry => ({
  action: 'response.cancel',
  target,
  address: '127.0.0.1',
  outcome: 'asked',
  detail: null,
  asked: null,
});

describe('the audit log', () => {
  it('gives each entry a place and the time of Redis', async () => {
    const log = logOf();
    const [seconds] = await redis.client.time();
    const first = await log.add(entry('a'));
    const second = await log.add({ ...entry('b'), outcome: 'refused', detail: 'not_found' });
    expect(first.at).toBeGreaterThanOrEqual(Number(seconds) * 1000);
    expect((await log.page({ before: undefined, limit: 10 })).entries).toEqual([second, first]);
  });

  it('gives each entry once over its pages, newest first', async () => {
    const log = logOf();
    for (let at = 0; at < 25; at += 1) await log.add(entry(String(at)));
    const seen: string[] = [];
    let before: string | undefined;
    do {
      const page = await log.page({ before, limit: 7 });
      seen.push(...page.entries.map(({ target }) => target));
      before = page.next;
    } while (before !== undefined);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, at) => String(24 - at)));
  });

  it('forgets the oldest entries of a kind', async () => {
    const log = logOf(10);
    for (let at = 0; at < 50; at += 1) await log.add(entry(String(at)));
    expect(await redis.client.xlen(`${redis.prefix}:{0}:audit`)).toBe(10);
    expect(await redis.client.llen(`${redis.prefix}:{0}:audit:response.cancel`)).toBe(10);
    expect((await targets(log)).at(-1)).toBe('40');
  });

  it('keeps an act however often another one is done, and however often it is refused', async () => {
    const log = logOf(10);
    const act = async (action: string, target: string, outcome: 'done' | 'refused') => {
      const asked = await log.add({ ...entry(target), action });
      await log.add({ ...entry(target), action, outcome, asked: asked.id });
    };
    await act('key.revoke', 'the one', 'done');
    for (let at = 0; at < 50; at += 1) {
      await act('response.reveal', `seen ${at}`, 'done');
      await act('key.revoke', `unknown ${at}`, 'refused');
    }
    const kept = await targets(log);
    expect(kept.filter((target) => target === 'the one')).toHaveLength(2);
    expect(kept).toHaveLength(22);
    expect(await redis.client.xlen(`${redis.prefix}:{0}:audit`)).toBe(22);
  });

  it('reads what a release has written that kept one stream, and writes what that can read', async () => {
    const key = `${redis.prefix}:{0}:audit`;
    await redis.client.xadd(key, 'MAXLEN', '~', 10_000, '*', 'e', JSON.stringify(entry('before')));
    await logOf().add(entry('after'));
    expect(await targets(logOf())).toEqual(['after', 'before']);
    const [, fields] = (await redis.client.xrevrange(key, '+', '-', 'COUNT', 1))[0] ?? [];
    expect(JSON.parse(fields?.[1] ?? '')).toEqual(entry('after'));
  });

  it('shortens what is long', async () => {
    const log = logOf();
    const added = await log.add({ ...entry('x'.repeat(50_000)), detail: 'y'.repeat(50_000) });
    expect(added.target).toHaveLength(1_000);
    expect(added.detail).toHaveLength(1_000);
    expect((await log.page({ before: undefined, limit: 1 })).entries).toEqual([added]);
  });

  it('passes over what it cannot read', async () => {
    const log = logOf();
    const known = await log.add(entry('a'));
    for (const json of ['{', '7', '{"action":7}']) {
      await redis.client.xadd(`${redis.prefix}:{0}:audit`, '*', 'e', json);
    }
    expect(await log.page({ before: undefined, limit: 10 })).toEqual({ entries: [known], next: undefined });
  });
});
