import type { ResponseRow } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import {
  addPage,
  firstPage,
  foldRows,
  type LiveRows,
  mostAtTop,
  mostFresh,
  noRows,
  showFresh,
} from './fold-rows.ts';

const row = (id: string, at: number, status: ResponseRow['status'] = 'queued'): ResponseRow => ({
  id,
  tenant: 'acme',
  model: 'qwen3-8b',
  tier: 'default',
  mode: 'stream',
  status,
  error_code: null,
  accepted_at: at,
  started_at: null,
  first_output_at: null,
  ended_at: null,
  attempts: 0,
  input_tokens: null,
  output_tokens: null,
});
const ids = (rows: readonly ResponseRow[]) => rows.map(({ id }) => id);

describe('a list that is kept up to date', () => {
  const rows = firstPage([row('b', 20), row('a', 10)], []);

  it('begins with its first page and what was told while that was read', () => {
    const news = [
      { rows: [row('c', 30), row('a', 10, 'completed' as const)], total: 3 },
      { rows: [row('d', 40)], gone: ['b'], total: 3 },
    ];
    const begun = firstPage([row('b', 20), row('a', 10)], news);
    expect(ids(begun.shown)).toEqual(['d', 'c', 'a']);
    expect(begun.shown.at(-1)?.status).toBe('completed');
    expect(begun.fresh).toEqual([]);
  });

  it('changes a row where it stands', () => {
    const folded = foldRows(rows, { rows: [row('a', 10, 'completed')], total: 2 });
    expect(folded.shown.map(({ status }) => status)).toEqual(['queued', 'completed']);
    expect(folded.fresh).toEqual([]);
  });

  it('gathers new rows apart, newest first, and shows them when asked to', () => {
    const once = foldRows(rows, { rows: [row('c', 30)], total: 3 });
    const twice = foldRows(once, { rows: [row('d', 40), row('c', 30, 'failed')], total: 4 });
    expect(ids(twice.shown)).toEqual(['b', 'a']);
    expect(ids(twice.fresh)).toEqual(['d', 'c']);
    expect(twice.fresh[1]?.status).toBe('failed');
    expect(ids(showFresh(twice).shown)).toEqual(['d', 'c', 'b', 'a']);
  });

  it('leaves out what it has not loaded: rows older than those that are shown', () => {
    expect(foldRows(rows, { rows: [row('old', 5, 'completed')], total: 9 }).fresh).toEqual([]);
  });

  it('takes in an older row that begins to match, and shows it in its place', () => {
    const folded = foldRows(rows, { rows: [row('between', 15, 'failed')], total: 9 });
    expect(ids(folded.shown)).toEqual(['b', 'a']);
    expect(ids(folded.fresh)).toEqual(['between']);
    expect(ids(showFresh(folded).shown)).toEqual(['b', 'between', 'a']);
    expect(ids(firstPage(rows.shown, [{ rows: [row('between', 15)], total: 9 }]).shown)).toEqual(
      ids(showFresh(folded).shown),
    );
  });

  it('takes in a row that is older than all, when there are no others behind those that are shown', () => {
    const folded = foldRows(rows, { rows: [row('old', 5, 'failed')], total: 3 });
    expect(ids(showFresh(folded).shown)).toEqual(['b', 'a', 'old']);
  });

  it('takes away what no longer matches', () => {
    const folded = foldRows({ ...rows, fresh: [row('c', 30)] }, { rows: [], gone: ['a', 'c'], total: 1 });
    expect(ids(folded.shown)).toEqual(['b']);
    expect(folded.fresh).toEqual([]);
  });

  const many = (count: number, at = 100) =>
    Array.from({ length: count }, (_, each) => row(`n${at + each}`, at + each));

  it('keeps a bounded number of new rows, and knows that others were left out', () => {
    const full = foldRows(rows, { rows: many(mostFresh - 1), total: 1000 });
    expect(full).toMatchObject({ fresh: { length: mostFresh - 1 }, hasGap: false });
    const cut = foldRows(full, { rows: many(5, 1_000), total: 1005 });
    expect(cut).toMatchObject({ fresh: { length: mostFresh }, hasGap: true });
    expect(cut.fresh[0]?.id).toBe('n1004');
    expect(foldRows(cut, { rows: [], total: 1005 }).hasGap).toBe(true);
    expect(showFresh(cut)).toMatchObject({ shown: { length: mostFresh + 2 }, hasGap: true });
  });

  it('takes as many new rows as the service tells of at once for a part of them', () => {
    expect(foldRows(rows, { rows: many(mostFresh), total: 2000 }).hasGap).toBe(true);
    expect(firstPage(rows.shown, [{ rows: many(mostFresh), total: 2000 }]).hasGap).toBe(true);
    const ended = { ...noRows, shown: many(mostFresh).toReversed() };
    expect(foldRows(ended, { rows: ended.shown, total: 2000 }).hasGap).toBe(false);
  });

  it('shows a bounded number of rows to a reader who stays at the top', () => {
    let seen: LiveRows = { ...noRows, shown: [row('a', 10)] };
    for (let at = 100; at < 100 + mostAtTop; at += 100) {
      expect(seen.hasGap).toBe(false);
      seen = showFresh(foldRows(seen, { rows: many(100, at), total: at }));
    }
    expect(seen).toMatchObject({ shown: { length: mostAtTop }, hasGap: true });
    expect(seen.shown[0]?.id).toBe(`n${99 + mostAtTop}`);
  });

  it('keeps all that a reader has loaded until there is something new', () => {
    const loaded = { ...noRows, shown: many(2 * mostAtTop).toReversed() };
    expect(showFresh(loaded)).toEqual(loaded);
  });

  it('adds a page without what is there already', () => {
    expect(ids(addPage(rows, [row('a', 10), row('z', 1)], []).shown)).toEqual(['b', 'a', 'z']);
  });

  it('takes in a row that begins to match behind all that are left of a page, and before the next', () => {
    const left = foldRows(rows, { rows: [], gone: ['a'], total: 7 });
    const folded = foldRows(left, { rows: [row('between', 15)], total: 8 });
    expect(ids(folded.fresh)).toEqual(['between']);
    const more = addPage(showFresh(folded), [row('z', 5)], []);
    expect(ids(more.shown)).toEqual(['b', 'between', 'z']);
    expect(ids(foldRows(more, { rows: [row('y', 7), row('x', 3)], gone: ['z'], total: 9 }).fresh)).toEqual([
      'y',
    ]);
  });

  it('takes in what was told while another page was read', () => {
    const news = [
      { rows: [row('y', 7), row('z', 5, 'completed' as const)], total: 9 },
      { rows: [row('x', 3)], gone: ['w'], total: 8 },
    ];
    // The page was read before they were told, and they were folded before the page came.
    const more = addPage(news.reduce(foldRows, rows), [row('w', 6), row('z', 5)], news);
    expect(more.shown.map(({ id, status }) => [id, status])).toEqual([
      ['b', 'queued'],
      ['a', 'queued'],
      ['z', 'completed'],
    ]);
    expect(ids(more.fresh)).toEqual(['y']);
  });
});
