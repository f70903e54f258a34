import { describe, expect, it } from 'vitest';
import { minuteMs, MinuteSums, mostAddedAtOnce } from './minute-sums.ts';
import { parseSums } from './sums.ts';

const fieldsOf = (minute: MinuteSums): Map<string, Record<string, number>> => {
  const fields = minute.fields();
  const found = new Map<string, Record<string, number>>();
  for (let at = 0; at < fields.length; at += 2) {
    found.set(fields[at] ?? '', parseSums(fields[at + 1] ?? '') ?? {});
  }
  return found;
};

const minute = 5 * minuteMs;

describe('the sums of a minute', () => {
  it('are by span, model, tenant and error code', () => {
    const sums = new MinuteSums();
    sums.count(minute, { tenant: 'a', model: 'm' }, 'accepted');
    sums.count(minute + 9_999, { tenant: 'b', model: 'm' }, 'accepted');
    sums.count(minute + 59_999, { tenant: 'a', model: 'n' }, 'output_tokens', 30);
    sums.countCode('timeout');
    expect(Object.fromEntries(fieldsOf(sums))).toEqual({
      's:0': { accepted: 2 },
      's:5': { output_tokens: 30 },
      'm:m': { accepted: 2 },
      'm:n': { output_tokens: 30 },
      't:a': { accepted: 1, output_tokens: 30 },
      't:b': { accepted: 1 },
      'e:timeout': { count: 1 },
    });
  });

  it('keep of a tenant what is asked for of one', () => {
    const sums = new MinuteSums();
    for (const name of ['completed', 'cancelled', 'ms40'])
      sums.count(minute, { tenant: 'a', model: 'm' }, name);
    expect([...fieldsOf(sums).keys()]).toEqual(['s:0', 'm:m']);
  });

  it('name those tenants that were busiest, and lose nothing of the others', () => {
    const sums = new MinuteSums();
    const busy = Array.from({ length: mostAddedAtOnce - 1 }, (_, n) => `busy${n}`);
    for (let n = 0; n < 10_000; n += 1) {
      sums.count(minute, { tenant: `tenant${n}`, model: 'm' }, 'accepted');
      if (n < busy.length) sums.count(minute, { tenant: busy[n], model: 'm' }, 'refused', 50);
    }
    // As much as it likes: it takes one place.
    sums.count(minute, { tenant: 'flood', model: 'm' }, 'output_tokens', 1e9);
    const fields = fieldsOf(sums);
    const named = [...fields.keys()].filter((field) => field.startsWith('t:'));
    expect(new Set(named)).toEqual(new Set(['flood', ...busy].map((tenant) => `t:${tenant}`)));
    expect(fields.get('r:t:')).toEqual({ accepted: 10_000 });
    expect(fields.get('m:m')).toEqual({
      accepted: 10_000,
      refused: 50 * busy.length,
      output_tokens: 1e9,
    });
  });

  it('are as few once their minute is over', () => {
    const sums = new MinuteSums();
    for (let n = 0; n < 1_000; n += 1)
      sums.count(minute, { tenant: `tenant${n}`, model: `m${n}` }, 'accepted');
    sums.trim();
    sums.count(minute, { tenant: 'late', model: 'm' }, 'accepted');
    const fields = fieldsOf(sums);
    for (const kind of ['t:', 'm:']) {
      const named = [...fields].filter(([field]) => field.startsWith(kind));
      expect(named).toHaveLength(mostAddedAtOnce);
      const rest = fields.get(`r:${kind}`)?.['accepted'] ?? 0;
      expect(named.length + rest).toBe(1_001);
    }
  });
});
