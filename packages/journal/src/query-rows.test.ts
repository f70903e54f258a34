import { type ResponseSearch, responseSearchSchema } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { type IndexedRow, takeEntry } from './indexed-row.ts';
import type { JournalLine } from './journal-line.ts';
import { digestsOf } from './metadata-digests.ts';
import { countRows, facetsOf, listRows, parseCursor, subjectsOf } from './query-rows.ts';
import { bytesPerRow, RowTable } from './row-table.ts';

interface Told {
  tenant?: string;
  model?: string;
  tier?: string;
  mode?: string;
  at?: number;
  status?: string;
  code?: string;
  metadata?: Record<string, string>;
  requestId?: string;
}

function accepted(told: Told): JournalLine {
  const { tenant = 'a', model = 'm', tier = 'default', mode = 'whole', at = 1_000, metadata } = told;
  const { requestId = 'req' } = told;
  const digests = digestsOf(metadata);
  return { what: 'accepted', at, tenant, model, tier, mode, requestId, isInLine: false, digests };
}

function ended({ status = 'completed', code, at = 1_000 }: Told): JournalLine {
  const none = { because: undefined, inputTokens: 3, outputTokens: 2 };
  return { what: 'ended', at: at + 10, attempt: 1, status, code, ...none };
}

function tell(table: RowTable, subject: string, ...lines: JournalLine[]): void {
  table.change(subject, (row) => takeEntry(row, { subject, lines }, 'text'));
}

/** A table of these responses; their ids are `0a`, `0b` and so on. */
function tableOf(rows: Told[], keep = 1000): RowTable {
  const table = new RowTable({ keep });
  for (const [at, row] of rows.entries()) {
    const lines = row.status === undefined ? [accepted(row)] : [accepted(row), ended(row)];
    tell(table, `0${String.fromCodePoint(97 + at)}`, ...lines);
  }
  return table;
}

const found = (table: RowTable, filter: ResponseSearch) =>
  subjectsOf(table, responseSearchSchema.parse(filter)).join(' ');

const rows: Told[] = [
  { at: 1_000, status: 'completed' },
  { at: 2_000, tenant: 'b', status: 'failed', code: 'timeout', mode: 'stream' },
  { at: 3_000, tenant: 'b', model: 'n', status: 'failed', code: 'server_error', tier: 'flex' },
  { at: 4_000, metadata: { job: '7', 'a:b': 'c' }, mode: 'background', requestId: 'req_1ab' },
];

describe('the rows that match', () => {
  it.each<[ResponseSearch, string]>([
    [{}, '0d 0c 0b 0a'],
    [{ status: ['failed'] }, '0c 0b'],
    [{ request_id: 'req_1ab' }, '0d'],
    [{ request_id: 'req_1' }, '0d'],
    [{ request_id: 'req_1', status: ['failed'] }, ''],
    [{ request_id: '1ab' }, ''],
    [{ status: ['failed', 'queued'] }, '0d 0c 0b'],
    [{ status: [] }, '0d 0c 0b 0a'],
    [{ tenant: ['b'], model: ['n'] }, '0c'],
    [{ tenant: ['b'], model: ['other'] }, ''],
    [{ tier: ['flex', 'priority'] }, '0c'],
    [{ mode: ['stream', 'background'] }, '0d 0b'],
    [{ error_code: ['timeout'] }, '0b'],
    [{ from: 2_000, to: 4_000 }, '0c 0b'],
    [{ from: 4_000, to: 2_000 }, ''],
    [{ from: 4_001 }, ''],
    [{ id: '0c' }, '0c'],
    [{ id: 'create-response_0c' }, '0c'],
    [{ id: 'resp_0c' }, '0c'],
    [{ id: 'create-resp' }, '0d 0c 0b 0a'],
    [{ id: '0' }, '0d 0c 0b 0a'],
    [{ id: 'c' }, ''],
    [{ metadata: ['job:7'] }, '0d'],
    [{ metadata: ['job:7', 'a:b:c'] }, '0d'],
    [{ metadata: ['job:7', 'job:8'] }, ''],
    [{ metadata: ['job:'] }, ''],
  ])('by %j', (filter, ids) => {
    const table = tableOf(rows);
    expect(found(table, filter)).toBe(ids);
    expect(countRows(table, filter)).toBe(ids === '' ? 0 : ids.split(' ').length);
  });

  it('come newest first, whatever order they were read in', () => {
    const table = tableOf([{ at: 3 }, { at: 1 }, { at: 4 }, { at: 1 }, { at: 5 }]);
    expect(found(table, {})).toBe('0e 0c 0a 0d 0b');
  });

  it('come in pages that leave nothing out and repeat nothing, also those of one millisecond', () => {
    const table = tableOf(Array.from({ length: 23 }, (_, at) => ({ at: 1 + Math.floor(at / 5) })));
    const all = found(table, {}).split(' ');
    for (const limit of [1, 2, 5, 22, 23, 24]) {
      const paged: string[] = [];
      let after: string | null = null;
      do {
        const page = listRows(table, {}, { limit, after: after === null ? undefined : parseCursor(after) });
        expect(page.total).toBe(23);
        expect(page.hasMore).toBe(page.next !== null);
        paged.push(...page.rows.map(({ id }) => id.slice('create-response_'.length)));
        after = page.next;
      } while (after !== null);
      expect(paged).toEqual(all);
    }
  });

  it('go on behind a cursor whose response is gone, or whose page has grown since', () => {
    const table = tableOf(rows);
    const first = listRows(table, {}, { limit: 2 });
    tell(table, '0zz', accepted({ at: 9_000 }));
    const cursor = parseCursor(first.next ?? '');
    expect(listRows(table, {}, { limit: 9, after: cursor }).rows.map(({ accepted_at: at }) => at)).toEqual([
      2_000, 1_000,
    ]);
    const gone = parseCursor('2500.0nobody');
    expect(listRows(table, {}, { limit: 9, after: gone }).rows).toHaveLength(2);
  });

  it.each(['', 'x', '1', '1.', '.a', '1.a-b', '1.a b', '-1.a', '1e3.a', `${'9'.repeat(16)}.a`, '1.a\n'])(
    'have no cursor %j',
    (text) => {
      expect(parseCursor(text)).toBeUndefined();
    },
  );
});

describe('facets', () => {
  it('count each field among the rows that match the others', () => {
    const facets = facetsOf(tableOf(rows), { status: ['failed'], tenant: ['b'] });
    expect(facets.status).toEqual([{ value: 'failed', count: 2 }]);
    expect(facets.tenant).toEqual([{ value: 'b', count: 2 }]);
    expect(facetsOf(tableOf(rows), { status: ['failed'] }).status).toEqual([
      { value: 'failed', count: 2 },
      { value: 'completed', count: 1 },
      { value: 'queued', count: 1 },
    ]);
    expect(facetsOf(tableOf(rows), { from: 3_000 }).error_code).toEqual([
      { value: 'server_error', count: 1 },
    ]);
  });

  it('are those of one field, by how its values begin', () => {
    expect(facetsOf(tableOf(rows), {}, { field: 'error_code', prefix: 'TIME' })).toEqual({
      error_code: [{ value: 'timeout', count: 1 }],
    });
  });

  it('list a hundred values of a field, the most frequent first', () => {
    const many = Array.from({ length: 400 }, (_, at) => ({ tenant: `t${at % 150}` }));
    const table = new RowTable({ keep: 1000 });
    for (const [at, row] of many.entries()) tell(table, `0${at}`, accepted(row));
    const { tenant = [] } = facetsOf(table, {}, { field: 'tenant' });
    expect(tenant).toHaveLength(100);
    expect(tenant.map(({ count }) => count)).toEqual(Array.from({ length: 100 }, () => 3));
  });

  it('agree with the rows themselves, for any filter', () => {
    const words = {
      status: ['completed', 'failed', 'cancelled'],
      tenant: ['a', 'b', 'c'],
      mode: ['whole', 'stream'],
    };
    const pick = (list: string[], seed: number) => list[seed % list.length] ?? '';
    const many = Array.from({ length: 25 }, (_, at) => ({
      at: 1 + at,
      status: pick(words.status, at * 7),
      tenant: pick(words.tenant, at * 5 + 1),
      mode: pick(words.mode, at * 3),
    }));
    const table = tableOf(many);
    for (const status of words.status) {
      for (const tenant of words.tenant) {
        const { mode = [] } = facetsOf(
          table,
          responseSearchSchema.parse({ status: [status], tenant: [tenant] }),
        );
        for (const { value, count } of mode) {
          const of = responseSearchSchema.parse({ status: [status], tenant: [tenant], mode: [value] });
          expect(countRows(table, of)).toBe(count);
        }
      }
    }
  });
});

describe('a table of rows', () => {
  it('comes to the same row in whatever order its lines are read', () => {
    const claimed: JournalLine = {
      ...{ what: 'claimed', at: 1_005, attempt: 1, worker: 'w', tenant: 'a', model: 'm', tier: 'default' },
      ...{ mode: 'whole', acceptedAt: 1_000, host: 'h', pid: 1 },
    };
    const lines: JournalLine[] = [
      accepted({ metadata: { k: 'v' } }),
      claimed,
      { what: 'first_output', at: 1_006, attempt: 1 },
      { what: 'retried', at: 1_007, attempt: 1, code: 'server_error', delayMs: 1 },
      { ...claimed, at: 1_008, attempt: 2 },
      { what: 'first_output', at: 1_009, attempt: 2 },
      ended({}),
    ];
    const results = permutations(lines).map((order) => {
      const table = new RowTable({ keep: 10 });
      for (const line of order) tell(table, '0a', line);
      const row = table.get('0a');
      expect(table.size).toBe(1);
      return { ...row, entries: [] };
    });
    const [first] = results;
    expect(first).toMatchObject({ status: 'completed', attempts: 2, startedAt: 1_005, firstOutputAt: 1_009 });
    for (const result of results) expect(result).toEqual(first);
  });

  it('keeps the newest, whichever come first', () => {
    const newestFirst = Array.from({ length: 20 }, (_, at) => ({ at: 100 - at }));
    const oldestFirst = newestFirst.toReversed();
    for (const order of [newestFirst, oldestFirst]) {
      const table = tableOf(order, 10);
      const kept = table.sorted().map(({ acceptedAt }) => acceptedAt);
      expect(kept.slice(-10)).toEqual(Array.from({ length: 10 }, (_, at) => 91 + at));
      expect(kept.length).toBeLessThanOrEqual(11);
    }
  });

  it('lists a row once somebody has said when it was accepted, and knows which are open', () => {
    const table = new RowTable({ keep: 10 });
    tell(table, '0a', { what: 'first_output', at: 5, attempt: 1 });
    expect([table.size, table.open.size]).toEqual([0, 1]);
    tell(table, '0a', accepted({}));
    expect([table.size, table.open.size]).toEqual([1, 1]);
    tell(table, '0a', ended({}));
    expect([table.size, table.open.size]).toEqual([1, 0]);
  });

  it('holds no more rows without a time than it keeps', () => {
    const table = new RowTable({ keep: 10 });
    for (let at = 0; at < 50; at += 1) tell(table, `0${at}`, { what: 'first_output', at: 5, attempt: 1 });
    expect(table.open.size).toBe(10);
    expect(table.get('00')).toBeUndefined();
    expect(table.get('049')).toBeDefined();
  });

  it('lets the oldest rows go when others have so many entries that all together are too many', () => {
    const table = tableOf(
      Array.from({ length: 10 }, (_, at) => ({ at: 1 + at })),
      10,
    );
    for (let round = 0; round < 60; round += 1) {
      for (const subject of ['0h', '0i', '0j']) tell(table, subject, { what: 'let_in', at: 5 });
    }
    expect(table.size).toBeLessThan(10);
    expect(table.get('0a')).toBeUndefined();
    expect(table.bytes).toBeLessThanOrEqual(10 * bytesPerRow);
  });

  it('holds a bounded number of the entries of one row: how it began and what was last', () => {
    const table = new RowTable({ keep: 10 });
    for (let at = 0; at < 200; at += 1) {
      table.change('0a', (row: IndexedRow) => takeEntry(row, { subject: '0a', lines: [] }, String(at)));
    }
    const { entries = [] } = table.get('0a') ?? {};
    expect(entries).toHaveLength(64);
    expect([entries[0], entries[7], entries[8], entries.at(-1)]).toEqual(['0', '7', '144', '199']);
  });
});

function permutations<Value>(values: readonly Value[]): Value[][] {
  if (values.length <= 1) return [[...values]];
  return values.flatMap((value, at) => permutations(values.toSpliced(at, 1)).map((rest) => [value, ...rest]));
}
