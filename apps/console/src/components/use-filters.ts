import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';

/** The search of an address: every parameter with its values. */
export type UrlSearch = Partial<Record<string, readonly string[]>>;

export interface Filters {
  /** The values of each filter that has any. */
  values: UrlSearch;
  /** The first value of a filter that has one only, such as a search text. */
  text: (key: string) => string;
  /** Puts values in place of those of one filter, or takes the filter away. */
  set: (key: string, values: readonly string[]) => void;
  /**
   * Puts typed texts in place of those before; an empty one takes its filter away. While somebody types on, it stays one step of
   * the browser's history.
   */
  type: (texts: Readonly<Record<string, string>>) => void;
  clear: () => void;
  /** How many filters are set. */
  count: number;
}

/**
 * The filters of a page, which live in its address: a link to it shows the same, and going back undoes them. `keys` is a constant
 * list of those that the page has; other parameters are left alone.
 */
export function useFilters(keys: readonly string[]): Filters {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (next: UrlSearch, replace = false) => {
      void navigate({
        to: '.',
        search: (before: UrlSearch) => ({ ...before, ...next }),
        replace,
      } as never);
    },
    [navigate],
  );
  return useMemo(() => {
    const set = keys.filter((key) => (search[key]?.length ?? 0) > 0);
    return {
      values: Object.fromEntries(set.map((key) => [key, search[key]])),
      text: (key) => search[key]?.[0] ?? '',
      set: (key, values) => change({ [key]: values.length > 0 ? values : undefined }),
      type: (texts) =>
        change(
          Object.fromEntries(
            Object.entries(texts).map(([key, text]) => [key, text === '' ? undefined : [text]]),
          ),
          Object.keys(texts).some((key) => search[key] !== undefined),
        ),
      clear: () => change(Object.fromEntries(keys.map((key) => [key, undefined]))),
      count: set.length,
    };
  }, [keys, search, change]);
}
