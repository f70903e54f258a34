import { ServiceError } from '@sluice/contract';
import { z } from 'zod';

const id = z.string().max(256).optional();

/** The query of any list of Anthropic's API. The limit arrives as text. */
export const messagePageSchema = z.object({
  limit: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(1_000))
    .default(20),
  before_id: id,
  after_id: id,
});
export type MessagePageQuery = z.output<typeof messagePageSchema>;

export interface MessagePage<Element> {
  data: Element[];
  /** Whether there are more in the direction that is asked for. */
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
}

/**
 * The elements before or behind one of a list, or its first ones.
 *
 * @throws {ServiceError} for an id that the list does not have, and for two of them.
 */
export function messagePageOf<Element extends { id: string }>(
  all: readonly Element[],
  { limit, before_id: before, after_id: after }: MessagePageQuery,
): MessagePage<Element> {
  if (before !== undefined && after !== undefined) {
    throw new ServiceError(
      'mutually_exclusive_parameters',
      "'before_id' and 'after_id' cannot be used together.",
      { param: 'before_id' },
    );
  }
  const placeOf = (name: 'before_id' | 'after_id', given: string) => {
    const at = all.findIndex((each) => each.id === given);
    if (at < 0)
      throw new ServiceError('invalid_value', `'${name}' names nothing in the list.`, { param: name });
    return at;
  };
  const end = before === undefined ? undefined : placeOf('before_id', before);
  const from = after === undefined ? 0 : placeOf('after_id', after) + 1;
  const [first, last] = end === undefined ? [from, from + limit] : [Math.max(0, end - limit), end];
  const data = all.slice(first, last);
  return {
    data,
    has_more: end === undefined ? last < all.length : first > 0,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}
