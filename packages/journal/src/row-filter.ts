import { responseIdPrefix } from '@sluice/contract';
import { type FacetField, facetFields, type ResponseSearch } from '@sluice/contract/admin';
import type { IndexedRow } from './indexed-row.ts';
import type { ShapedFields } from './row-shapes.ts';
import { digestOfPair, hasDigest } from './metadata-digests.ts';

/** A filter of the contract, made ready for many rows. */
export interface RowFilter {
  /** Accepted at this moment or later, and before that one. */
  readonly from: number;
  readonly to: number;
  /** Whether every row between them matches. */
  readonly isOpen: boolean;
  /** Whether a row matches. */
  test(row: FilteredRow): boolean;
  /**
   * The fields with facets that a row does not match, as a set of bits in the order of `facetFields`; -1 when it does not
   * match the rest of the filter.
   */
  misses(row: FilteredRow): number;
}

/** The fields that a filter reads. */
export type FilteredRow = ShapedFields &
  Pick<IndexedRow, 'subject' | 'acceptedAt' | 'digests' | 'requestId' | 'shape'>;

export function rowFilter(filter: ResponseSearch): RowFilter {
  const { from = 0, to = Number.POSITIVE_INFINITY, request_id: request = '' } = filter;
  const begin = filter.id === undefined ? '' : subjectPrefix(filter.id);
  const pairs = (filter.metadata ?? []).map(digestsOfFilter);
  // An array of the fields that are asked for, because this runs for each row of each query.
  const wanted = facetFields.flatMap((field, at) => {
    const values = filter[field];
    return values && values.length > 0 ? [{ field, bit: 1 << at, values: new Set<string>(values) }] : [];
  });
  const query = {};
  const missedBy = (row: ShapedFields): number => {
    let missed = 0;
    for (const { field, bit, values } of wanted) {
      const value = valueOf(row, field);
      if (value === null || !values.has(value)) missed |= bit;
    }
    return missed;
  };
  const misses = (row: FilteredRow): number => {
    if (row.acceptedAt < from || row.acceptedAt >= to) return -1;
    if (begin !== '' && !row.subject.startsWith(begin)) return -1;
    if (request !== '' && !row.requestId.startsWith(request)) return -1;
    for (const digests of pairs) if (!digests.some((digest) => hasDigest(row.digests, digest))) return -1;
    const { shape } = row;
    if (!shape) return missedBy(row);
    if (shape.query !== query) {
      shape.query = query;
      shape.missed = missedBy(shape);
      shape.count = 0;
    }
    return shape.missed;
  };
  const isOpen = begin === '' && request === '' && pairs.length === 0 && wanted.length === 0;
  return { from, to, isOpen, misses, test: (row) => misses(row) === 0 };
}

export function valueOf(row: ShapedFields, field: FacetField): string | null {
  switch (field) {
    case 'error_code':
      return row.code;
    case 'status':
    case 'model':
    case 'tenant':
    case 'tier':
    case 'mode':
      return row[field];
  }
}

/** Any prefix of an id, also one that is not typed to its end yet. */
const idPrefixes = [responseIdPrefix, 'resp_'];

function subjectPrefix(id: string): string {
  const prefix = idPrefixes.find((each) => id.startsWith(each));
  if (prefix !== undefined) return id.slice(prefix.length);
  // `create-r` is the beginning of a prefix. An id has neither hyphen nor underscore.
  return /[-_]/.test(id) && idPrefixes.some((each) => each.startsWith(id)) ? '' : id;
}

/** Most colons of a pair that are tried as the end of its key. */
const mostColons = 8;

/** `key:value`. A key may contain colons as well, so each of them may be where it ends. */
function digestsOfFilter(pair: string): string[] {
  const digests: string[] = [];
  for (let at = pair.indexOf(':'); at >= 0 && digests.length < mostColons; at = pair.indexOf(':', at + 1)) {
    digests.push(digestOfPair(pair.slice(0, at), pair.slice(at + 1)));
  }
  return digests;
}
