import { z } from 'zod';
import { ServiceError } from './service-error.ts';

/** One page of a list; the ids are null when it is empty. */
export function pageOf<Element extends z.ZodType>(element: Element) {
  return z.object({
    object: z.literal('list'),
    data: z.array(element),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
}

/** The elements of one page, and whether more come behind them. */
export interface Page<Element> {
  data: Element[];
  hasMore: boolean;
}

/** The body of a page, as `pageOf` describes it. */
export function presentPage<Element extends { id: string }>({ data, hasMore }: Page<Element>) {
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/**
 * The page behind an element of a list that is known as a whole, or the first one.
 *
 * @throws {ServiceError} with this message when there is no such element.
 */
export function pageBehind<Element extends { id: string }>(
  all: readonly Element[],
  { limit, after }: { limit: number; after?: string | undefined },
  unknown: string,
): Page<Element> {
  const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw new ServiceError('invalid_value', unknown, { param: 'after' });
  return { data: all.slice(from, from + limit), hasMore: from + limit < all.length };
}
