import type { Phase } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { takeEntry } from './indexed-row.ts';
import { type JournalLine, printEntry } from './journal-line.ts';
import { RowTable } from './row-table.ts';
import { storyOf, type StoryFacts } from './story.ts';

const models = [
  { id: 'm', queue: 'q' },
  { id: 'sibling', queue: 'q' },
  { id: 'other', queue: 'other' },
];

function accepted(isInLine = false, at = 1_000): JournalLine {
  const of = { tenant: 't', model: 'm', tier: 'default', mode: 'whole', requestId: 'req_1', digests: '' };
  return { what: 'accepted', at, isInLine, ...of };
}

function claimed(at: number, attempt = 1, model = 'm'): JournalLine {
  const of = { worker: `w${attempt}`, tenant: 't', model, tier: 'default', mode: 'whole', acceptedAt: 1_000 };
  return { what: 'claimed', at, attempt, ...of, host: 'h', pid: 7 };
}

const called = (at: number, attempt = 1): JournalLine => ({
  ...{ what: 'called', at, attempt, provider: 'p', upstreamModel: 'um' },
});

function ended(at: number, status = 'completed', because?: string): JournalLine {
  const code = status === 'failed' ? 'server_error' : undefined;
  return { what: 'ended', at, attempt: 1, status, code, because, inputTokens: 1, outputTokens: 1 };
}

/** The story of the response `0a`, of which these lines were told, beside others that were started then. */
function story(
  lines: JournalLine[],
  { others = [], ...facts }: Partial<StoryFacts> & { others?: [model: string, startedAt: number][] } = {},
) {
  const table = new RowTable({ keep: 100 });
  const tell = (subject: string, entry: JournalLine[]) => {
    const text = printEntry({ subject, lines: entry });
    table.change(subject, (row) => takeEntry(row, { subject, lines: entry }, text));
  };
  for (const line of lines) tell('0a', [line]);
  for (const [at, [model, startedAt]] of others.entries())
    tell(`0other${at}`, [claimed(startedAt, 1, model)]);
  const told = storyOf(table, '0a', {
    models,
    pausesOf: () => [],
    position: undefined,
    now: 100_000,
    ...facts,
  });
  if (!told) throw new Error('there is no story');
  return told;
}

/** Each phase as `kind from-to because`. */
const bar = (phases: readonly Phase[]) =>
  phases.map(({ kind, from, to, because }) => `${kind} ${from}-${to ?? ''}${because ? ` ${because}` : ''}`);

/** Lines of a response that was claimed at 5,000 and went through. */
const through = [called(5_010), { what: 'first_output', at: 5_200, attempt: 1 } as const, ended(6_000)];

it('has the responses that an operator made of it, and the one that it was made of', () => {
  const told = story([
    accepted(),
    { what: 'retry_of', at: 1_001, other: 'create-response_0before' },
    ended(2_000, 'failed'),
    { what: 'retried_as', at: 3_000, other: 'create-response_0one' },
    { what: 'retried_as', at: 4_000, other: 'create-response_0two' },
  ]);
  expect(told.retryOf).toBe('create-response_0before');
  expect(told.retriedAs).toEqual(['create-response_0one', 'create-response_0two']);
  expect(told.journal.at(-1)).toEqual({ at: 4_000, what: 'retried_as', detail: 'create-response_0two' });
  expect(story([accepted()])).toMatchObject({ retryOf: null, retriedAs: [] });
});

describe('the bar of a response', () => {
  it('goes from its accept to its end, and has no reason for a wait that was none', () => {
    const { phases } = story([
      accepted(),
      claimed(1_020),
      called(1_021),
      { what: 'first_output', at: 1_100, attempt: 1 },
      ended(2_000),
    ]);
    expect(bar(phases)).toEqual(['waiting 1000-1020', 'starting 1020-1100', 'generating 1100-2000']);
  });

  it.each<[string, JournalLine[], Parameters<typeof story>[1], string[]]>([
    [
      'it was in the line of its tenant',
      [accepted(true), { what: 'let_in', at: 3_000 }],
      {},
      ['waiting 1000-3000 tenant_full', 'waiting 3000-5000 model_full'],
    ],
    [
      'its claim found its tenant full',
      [accepted(), { what: 'crowded', at: 2_000 }, { what: 'let_in', at: 4_990 }],
      {},
      ['waiting 1000-2000 model_full', 'waiting 2000-4990 tenant_full', 'waiting 4990-5000'],
    ],
    [
      'others of its queue were started while it waited',
      [accepted()],
      {
        others: [
          ['m', 2_000],
          ['sibling', 3_000],
          ['other', 4_000],
        ],
      },
      ['waiting 1000-3000 behind_others', 'waiting 3000-5000 model_full'],
    ],
    [
      'nobody was in front of it',
      [accepted()],
      {
        others: [
          ['m', 900],
          ['m', 7_000],
          ['other', 3_000],
        ],
      },
      ['waiting 1000-5000 model_full'],
    ],
    [
      'its queue was paused',
      [accepted()],
      {
        pausesOf: (queue) =>
          queue === 'q'
            ? [
                { from: 100, to: 200 },
                { from: 2_000, to: 4_000 },
              ]
            : [],
      },
      ['waiting 1000-2000 model_full', 'waiting 2000-4000 queue_paused', 'waiting 4000-5000 model_full'],
    ],
    [
      'its queue was paused before and after',
      [accepted()],
      {
        pausesOf: () => [
          { from: 0, to: 2_000 },
          { from: 4_500, to: null },
        ],
      },
      ['waiting 1000-2000 queue_paused', 'waiting 2000-4500 model_full', 'waiting 4500-5000 queue_paused'],
    ],
  ])('says why it waited: %s', (_why, lines, facts, waits) => {
    const { phases } = story([...lines, claimed(5_000), ...through], facts);
    expect(bar(phases)).toEqual([...waits, 'starting 5000-5200', 'generating 5200-6000']);
  });

  it.each([
    ['parked', 'upstream_parked'],
    ['open', 'upstream_open'],
    ['busy', 'upstream_busy'],
    ['saturated', 'upstream_saturated'],
  ])('says that its upstream was %s, in the process and back in the queue', (because, reason) => {
    const { phases, attempts } = story([
      accepted(),
      claimed(1_010),
      { what: 'blocked', at: 1_020, attempt: 1, because },
      { what: 'postponed', at: 2_000, attempt: 1, because, afterMs: 3_000 },
      claimed(5_000),
      ...through,
    ]);
    expect(bar(phases)).toEqual([
      'waiting 1000-1010',
      'starting 1010-1020',
      `waiting 1020-5000 ${reason}`,
      'starting 5000-5200',
      'generating 5200-6000',
    ]);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['postponed', 'ended']);
  });

  it.each([
    ['memory', 'worker_memory'],
    ['model', 'model_unknown'],
  ])('says that its worker gave it back for want of its %s', (because, reason) => {
    const { phases } = story([
      accepted(),
      claimed(1_010),
      { what: 'postponed', at: 1_020, attempt: 1, because, afterMs: 100 },
      claimed(5_000),
      ...through,
    ]);
    expect(bar(phases)).toContain(`waiting 1020-5000 ${reason}`);
  });

  it('shows a retry, and the pause before it', () => {
    const { phases, attempts } = story([
      accepted(),
      claimed(1_010),
      called(1_011),
      {
        what: 'failed',
        at: 2_000,
        attempt: 1,
        provider: 'p',
        code: 'upstream_error',
        upstreamStatus: 502,
        reason: 'No GPU',
      },
      { what: 'retried', at: 2_000, attempt: 1, code: 'upstream_error', delayMs: 3_000 },
      claimed(5_000, 2),
      called(5_001, 2),
      { what: 'first_output', at: 5_200, attempt: 2 },
      ended(6_000),
    ]);
    expect(bar(phases)).toEqual([
      'waiting 1000-1010',
      'starting 1010-2000',
      'waiting 2000-5000 retry_delay',
      'starting 5000-5200',
      'generating 5200-6000',
    ]);
    expect(attempts).toMatchObject([
      {
        attempt: 1,
        worker: 'w1',
        worker_host: 'h',
        worker_pid: 7,
        provider: 'p',
        upstream_model: 'um',
        outcome: 'retried',
        error_code: 'upstream_error',
        upstream_status: 502,
        upstream_reason: 'No GPU',
        retry_delay_ms: 3_000,
        ended_at: 2_000,
      },
      { attempt: 2, worker: 'w2', outcome: 'ended', first_output_at: 5_200, ended_at: 6_000 },
    ]);
  });

  it('shows a worker that stopped, and one that died', () => {
    const stopped = story([
      accepted(),
      claimed(1_010),
      { what: 'given_back', at: 2_000, attempt: 1 },
      claimed(5_000),
      ...through,
    ]);
    const died = story([accepted(), claimed(1_010), called(1_020), claimed(5_000), ...through]);
    expect(bar(stopped.phases)[2]).toBe('waiting 2000-5000 worker_lost');
    expect(bar(died.phases).slice(1, 3)).toEqual(['starting 1010-1020', 'waiting 1020-5000 worker_lost']);
    expect(stopped.attempts.map(({ outcome }) => outcome)).toEqual(['given_back', 'ended']);
    expect(died.attempts.map(({ outcome, ended_at: at }) => [outcome, at])).toEqual([
      ['lost', null],
      ['ended', 6_000],
    ]);
  });

  it('shows the end of a response that nobody ran, and one that its claim ended', () => {
    const queued = story([accepted(), ended(9_000, 'cancelled', 'cancelled')]);
    expect(bar(queued.phases)).toEqual(['waiting 1000-9000 model_full']);
    expect(queued.attempts).toEqual([]);
    const broken = story([accepted(), claimed(1_010), called(1_011), ended(9_000, 'failed', 'broken_off')]);
    expect(broken.attempts.map(({ outcome }) => outcome)).toEqual(['lost']);
  });

  it('has no end while the response goes on, and says where it stands', () => {
    expect(bar(story([accepted()], { position: 3 }).phases)).toEqual(['waiting 1000- behind_others']);
    expect(bar(story([accepted()], { position: 1 }).phases)).toEqual(['waiting 1000- model_full']);
    expect(
      bar(story([accepted()], { position: 1, pausesOf: () => [{ from: 5_000, to: null }] }).phases),
    ).toEqual(['waiting 1000-5000 model_full', 'waiting 5000- queue_paused']);
    expect(bar(story([accepted(true)]).phases)).toEqual(['waiting 1000- tenant_full']);
    const running = story([accepted(), claimed(1_010), called(1_011)]);
    expect(bar(running.phases)).toEqual(['waiting 1000-1010', 'starting 1010-']);
    expect(running.attempts).toMatchObject([{ outcome: 'running', ended_at: null }]);
  });

  it('has no gap and no overlap, however much of what was told is lost or out of order', () => {
    const lines = [
      accepted(true),
      { what: 'let_in', at: 2_000 } as const,
      claimed(3_000),
      called(2_990),
      { what: 'first_output', at: 3_500, attempt: 1 } as const,
      { what: 'retried', at: 3_600, attempt: 1, code: 'upstream_error', delayMs: 10 } as const,
      claimed(4_000, 2),
      { what: 'postponed', at: 4_100, attempt: 2, because: 'busy', afterMs: 10 } as const,
      claimed(5_000, 2),
      ended(4_990),
    ];
    for (let lost = 0; lost < 2 ** lines.length; lost += 1) {
      const told = lines.filter((_line, at) => (lost & (1 << at)) === 0);
      if (!told.some(({ what }) => what === 'accepted' || what === 'claimed')) continue;
      const { phases, row } = story(told, {
        others: [
          ['m', 1_500],
          ['m', 4_500],
        ],
      });
      let at = row.accepted_at;
      for (const [index, { from, to }] of phases.entries()) {
        expect(from).toBe(at);
        expect(to === null).toBe(index === phases.length - 1 && row.ended_at === null);
        expect(to ?? from).toBeGreaterThanOrEqual(from);
        at = to ?? from;
      }
    }
  });
});

describe('the journal of a response', () => {
  it('is in the order of what happened, in words, without digests', () => {
    const told = story([ended(6_000, 'failed'), called(1_010), accepted(), claimed(1_010)]);
    expect(told.journal).toEqual([
      { at: 1_000, what: 'accepted', detail: 'request id req_1' },
      { at: 1_010, what: 'called', detail: 'attempt 1, provider p, upstream model um' },
      { at: 1_010, what: 'claimed', detail: 'attempt 1, worker h (process 7)' },
      {
        at: 6_000,
        what: 'ended',
        detail: 'attempt 1, status failed, code server_error, input tokens 1, output tokens 1',
      },
    ]);
    expect(told.requestId).toBe('req_1');
  });

  it('is none of a response that nobody has told of', () => {
    expect(
      storyOf(new RowTable({ keep: 10 }), '0a', { models, pausesOf: () => [], position: undefined, now: 1 }),
    ).toBeUndefined();
  });
});
