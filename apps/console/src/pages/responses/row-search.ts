import type { ResponseSearch } from '@sluice/contract/admin';
import type { UrlSearch } from '../../components/use-filters.ts';

/** The parameters of the address that narrow the list. `since` is a span of time, `q` the searched text. */
export const rowFilterKeys = [
  'status',
  'model',
  'tenant',
  'tier',
  'mode',
  'error_code',
  'since',
  'from',
  'to',
  'metadata',
  'id',
  'request_id',
] as const;

const lists = ['status', 'model', 'tenant', 'tier', 'mode', 'error_code', 'metadata'] as const;

/** Spans of time to choose from, with their length in milliseconds. */
export const spans = [
  { value: '5m', label: 'Last 5 minutes', ms: 300_000 },
  { value: '1h', label: 'Last hour', ms: 3_600_000 },
  { value: '6h', label: 'Last 6 hours', ms: 21_600_000 },
  { value: '24h', label: 'Last 24 hours', ms: 86_400_000 },
] as const;

/** The span of time of an address; undefined when it has none. */
export function spanOf(values: UrlSearch): (typeof spans)[number] | undefined {
  return spans.find(({ value }) => value === values['since']?.[0]);
}

/**
 * The filter that an address means. A span becomes the moment where it begins, counted back from `now`.
 */
export function filterOf(values: UrlSearch, now: number): ResponseSearch {
  const filter: Record<string, unknown> = {};
  for (const name of lists) if (values[name]?.length) filter[name] = values[name];
  for (const name of ['id', 'request_id']) {
    const [begin] = values[name] ?? [];
    if (begin !== undefined && begin !== '') filter[name] = begin;
  }
  const span = spanOf(values);
  const from = momentOf(values, 'from');
  // Both bounds hold where an address has a span and a beginning.
  if (span) filter['from'] = Math.max(now - span.ms, from ?? 0);
  else if (from !== undefined) filter['from'] = from;
  const to = momentOf(values, 'to');
  if (to !== undefined) filter['to'] = to;
  // The service refuses values of the address that it does not know, with a message that names them.
  return filter;
}

function momentOf(values: UrlSearch, name: 'from' | 'to'): number | undefined {
  const text = values[name]?.[0] ?? '';
  const at = Number(text);
  return text !== '' && Number.isSafeInteger(at) ? at : undefined;
}

/** Whether a filter is one at all. The beginning that all ids have in common is none. */
export function narrows({ id, ...others }: ResponseSearch): boolean {
  const isCommon = id === undefined || (/[-_]/.test(id) && idPrefixes.some((each) => each.startsWith(id)));
  return !isCommon || Object.keys(others).length > 0;
}

const idPrefixes = ['create-response_', 'resp_'] as const;

/** The kinds of search, as parameters of the address. */
export type RowSearch = Record<'id' | 'request_id' | 'metadata', string>;

/**
 * The search that a text means: a pair of metadata if it has a colon, the beginning of the id of a request, or the beginning
 * of the id of a response. Undefined for any other text.
 */
export function searchOf(text: string): RowSearch | undefined {
  const wanted = text.trim();
  const nothing = { id: '', request_id: '', metadata: '' };
  if (wanted.includes(':')) return { ...nothing, metadata: wanted };
  if (!/^[\w-]{0,128}$/.test(wanted)) return undefined;
  return wanted.startsWith('req_') ? { ...nothing, request_id: wanted } : { ...nothing, id: wanted };
}

/** A whole id, which leads to its response at once. */
export function isWholeId(text: string): boolean {
  return /^(?:create-response|resp)_[A-Za-z0-9]{16,}$/.test(text.trim());
}
