/** How long an upstream keeps what a mark names; five minutes for a mark without it. */
export const cacheTtls = ['5m', '1h'] as const;
export type CacheTtl = (typeof cacheTtls)[number];

/** Most breakpoints of a request: as many as Anthropic takes. */
export const mostCacheBreakpoints = 4;

/**
 * A place up to which an upstream is asked to keep the prompt in its cache. It changes the price of a request and nothing of its answer.
 *
 * It stands beside the request, so that the items that clients read back have no marks. `index` counts the tools or the items of the
 * input, and `part` the parts of that item's content or output; without `part` the whole item is meant.
 */
export type CacheBreakpoint =
  | { at: 'tool'; index: number; ttl?: CacheTtl }
  | { at: 'input'; index: number; part?: number; ttl?: CacheTtl };
