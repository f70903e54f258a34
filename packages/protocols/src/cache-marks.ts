import {
  type CacheBreakpoint,
  type CacheTtl,
  cacheTtls,
  type CachingRequest,
  mostCacheBreakpoints,
  ServiceError,
} from '@sluice/contract';
import { z } from 'zod';

/** A mark up to which the prompt is to be cached, as Anthropic's API has it, and gateways to it. */
export const cacheControl = z
  .object({ type: z.literal('ephemeral'), ttl: z.enum(cacheTtls).nullish() })
  .nullish();
export type CacheControl = z.output<typeof cacheControl>;

/** A mark in terms of the translated request, and the member that its caller wrote. */
export interface MarkAt {
  breakpoint: CacheBreakpoint;
  path: string;
}

/** A place of the translated request that may have a mark. */
type MarkedPlace = { at: 'tool'; index: number } | { at: 'input'; index: number; part?: number };

/** The mark at a place; none without a `cache_control`. `path` is the member that has it. */
export function markAt(place: MarkedPlace, control: CacheControl, path: string): MarkAt[] {
  if (!control) return [];
  return [
    {
      breakpoint: { ...place, ...ttlOf(control) },
      path: path === '' ? 'cache_control' : `${path}.cache_control`,
    },
  ];
}

function ttlOf({ ttl }: NonNullable<CacheControl>): { ttl?: CacheTtl } {
  return ttl == null ? {} : { ttl };
}

/**
 * The marks of a request as a member of it.
 *
 * @throws {ServiceError} that names the first mark which is one too many.
 */
export function cachingOf(marks: readonly MarkAt[]): CachingRequest {
  const surplus = marks[mostCacheBreakpoints];
  if (surplus) {
    const message = `Invalid '${surplus.path}': a request may have at most ${mostCacheBreakpoints} marks for caches.`;
    throw new ServiceError('invalid_value', message, { param: surplus.path });
  }
  return marks.length === 0 ? {} : { cache_breakpoints: marks.map(({ breakpoint }) => breakpoint) };
}
