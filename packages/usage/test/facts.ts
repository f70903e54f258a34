import { msPerHour, type UsageFact } from '../src/usage-database.ts';

export const hour = 480_000;
/** Everything that these tests record. */
export const wholeTime = { from: 0, until: hour * 2, hoursEach: 24 };

let made = 0;
export function aFact(more: Partial<UsageFact> = {}): UsageFact {
  made += 1;
  return {
    id: `create-response_${made}`,
    tenant: 'team-a',
    key: 'a1b2',
    model: 'm',
    tier: 'default',
    label: '',
    outcome: 'completed',
    startedAt: hour * msPerHour,
    endedAt: hour * msPerHour + 1_500,
    spend: 3_150_000,
    tokens: { input: 10, cached: 4, output: 5, reasoning: 2 },
    ...more,
  };
}

const sumsOfOlderRelease =
  'completed failed incomplete cancelled input cached cache_write output reasoning uncounted slot_ms'
    .split(' ')
    .map((name) => `${name} BIGINT NOT NULL`);

/** The statements by which an older release made its table and summed up a tenant. */
export const sumsByOlderRelease = (tenant: string): string[] => [
  `CREATE TABLE usage_sums (hour BIGINT, tenant TEXT, key TEXT, model TEXT, tier TEXT, responses BIGINT, ${sumsOfOlderRelease.join(', ')})`,
  `INSERT INTO usage_sums VALUES (${hour}, '${tenant}', 'k', 'm', 'default', 7, ${[...sumsOfOlderRelease.keys()].join(', ')})`,
];
