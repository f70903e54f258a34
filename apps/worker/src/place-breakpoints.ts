import type { CacheBreakpoint, CachingRequest } from '@sluice/contract';

/** The context of a model, of which the input of the request is the end. */
export interface PlacedContext {
  /** All items, before any was left out. */
  whole: readonly object[];
  /** How many of them come before the input of the request. */
  before: number;
  /** Those that are left, in the same order. */
  kept: readonly object[];
}

/** The breakpoints of a request in terms of its whole context. That of an item which was left out goes with it. */
export function placeBreakpoints(
  { cache_breakpoints: breakpoints }: CachingRequest,
  { whole, before, kept }: PlacedContext,
): CachingRequest {
  if (!breakpoints) return {};
  const placed = breakpoints.flatMap((breakpoint): CacheBreakpoint[] => {
    if (breakpoint.at === 'tool') return [breakpoint];
    const item = whole[before + breakpoint.index];
    const index = item ? kept.indexOf(item) : -1;
    return index < 0 ? [] : [{ ...breakpoint, index }];
  });
  return { cache_breakpoints: placed };
}
