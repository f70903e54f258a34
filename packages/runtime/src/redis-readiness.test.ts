import { describe, expect, it } from 'vitest';
import { redisProblems, type RedisFacts } from './redis-readiness.ts';

function facts(different: Partial<RedisFacts> = {}): RedisFacts {
  return {
    product: 'redis',
    version: '7.2.4',
    productVersion: '7.2.4',
    runId: 'c0ffee',
    role: 'master',
    isCluster: false,
    isEmbedded: false,
    maxmemoryPolicy: 'noeviction',
    maxmemoryBytes: 0,
    usedMemoryBytes: 1_000_000,
    appendOnly: true,
    appendFsync: 'everysec',
    save: '',
    isConfigForbidden: false,
    clockOffsetMs: 0,
    ...different,
  };
}

function verdicts(different: Partial<RedisFacts>): string[] {
  return redisProblems(facts(different), { isCluster: false }).map(({ severity }) => severity);
}

describe('redis problems', () => {
  it('finds none in a primary that keeps everything', () => {
    expect(verdicts({})).toEqual([]);
    expect(verdicts({ version: '6.2.0' })).toEqual([]);
    expect(verdicts({ version: '10.0.0' })).toEqual([]);
  });

  it('refuses a cluster that the address says nothing of, and a server that it calls one', () => {
    expect(redisProblems(facts({ isCluster: true }), { isCluster: true })).toEqual([]);
    const [missing] = redisProblems(facts({ isCluster: true }), { isCluster: false });
    expect(missing).toMatchObject({ severity: 'refuse', message: expect.stringContaining('add ?cluster') });
    const [needless] = redisProblems(facts(), { isCluster: true });
    expect(needless).toMatchObject({ severity: 'refuse', message: expect.stringContaining('remove it') });
  });

  it.each<Partial<RedisFacts>>([
    { maxmemoryPolicy: 'allkeys-lru' },
    { maxmemoryPolicy: 'volatile-ttl' },
    { version: '6.0.16' },
    { version: '5.0.7' },
    { isCluster: true },
    { role: 'slave' },
  ])('refuses %j', (different) => {
    expect(verdicts(different)).toEqual(['refuse']);
  });

  it.each<Partial<RedisFacts>>([
    { appendOnly: false, save: '' },
    { appendOnly: false, save: '3600 1' },
    { appendOnly: undefined },
    { appendFsync: 'no' },
    { isConfigForbidden: true, appendFsync: undefined, save: undefined },
    { isConfigForbidden: true, maxmemoryPolicy: undefined },
    { clockOffsetMs: -31_000 },
  ])('warns once of %j', (different) => {
    expect(verdicts(different)).toEqual(['warn']);
  });

  it.each<Partial<RedisFacts>>([{ version: '7.0.15' }, { appendOnly: false }, { appendFsync: 'no' }])(
    'refuses %j where what is told of must be on the disk',
    (different) => {
      const problems = redisProblems(facts(different), { isCluster: false, durability: 'fsync' });
      const refused = problems.filter(({ severity }) => severity === 'refuse').map(({ message }) => message);
      expect(refused).toEqual([expect.stringMatching(/^durability is fsync/)]);
    },
  );

  it('says plainly when nothing is kept on disk', () => {
    const [problem] = redisProblems(facts({ appendOnly: false, save: '' }), { isCluster: false });
    expect(problem?.message).toContain('keeps nothing on disk');
    expect(problem?.message).toContain('Set appendonly to yes');
  });

  it('does not judge the files of an embedded store', () => {
    expect(
      redisProblems(facts({ appendOnly: false, save: '' }), { isCluster: false, isEmbedded: true }),
    ).toEqual([]);
  });
});
