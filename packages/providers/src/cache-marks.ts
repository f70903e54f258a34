import type { CacheBreakpoint, CacheTtl, Generation } from '@sluice/contract';

/** A mark up to which an upstream is to cache the prompt, in the form that Anthropic's API has, and gateways to it. */
export type CacheMark = { type: 'ephemeral'; ttl?: CacheTtl };

/** The marks of one item of the input. */
export interface ItemMarks {
  /** The mark of a part, by its index. */
  parts: ReadonlyMap<number, CacheMark>;
  /** The mark behind the whole item, which is at its last part. */
  whole: CacheMark | undefined;
}

/** Marks of a request where the items and tools they belong to are found by their index. */
export interface CacheMarks {
  tools: ReadonlyMap<number, CacheMark>;
  items: ReadonlyMap<number, ItemMarks>;
}

/** The marks of a generation; undefined without any. */
export function cacheMarks({
  cache_breakpoints: breakpoints = [],
}: Pick<Generation, 'cache_breakpoints'>): CacheMarks | undefined {
  if (breakpoints.length === 0) return undefined;
  const tools = new Map<number, CacheMark>();
  const items = new Map<number, { parts: Map<number, CacheMark>; whole: CacheMark | undefined }>();
  for (const breakpoint of breakpoints) {
    const { at, index } = breakpoint;
    const mark = markOf(breakpoint);
    if (at === 'tool') {
      tools.set(index, mark);
      continue;
    }
    const item = items.get(index) ?? { parts: new Map(), whole: undefined };
    items.set(index, item);
    if (breakpoint.part === undefined) item.whole = mark;
    else item.parts.set(breakpoint.part, mark);
  }
  return { tools, items };
}

function markOf({ ttl }: CacheBreakpoint): CacheMark {
  return { type: 'ephemeral', ...(ttl !== undefined && { ttl }) };
}

/** The mark of one of so many parts. */
export function partMark(
  marks: ItemMarks | undefined,
  part: number,
  { of: count }: { of: number },
): CacheMark | undefined {
  return marks?.parts.get(part) ?? (part === count - 1 ? marks?.whole : undefined);
}

/** The mark of an item that its upstream takes in one piece: that of the whole, or else of its last marked part. */
export function itemMark(marks: ItemMarks | undefined): CacheMark | undefined {
  return marks?.whole ?? [...(marks?.parts ?? [])].toSorted(([one], [other]) => one - other).at(-1)?.[1];
}

/** The marks of an item whose parts stand behind so many others. */
export function shiftedMarks({ parts, whole }: ItemMarks, by: number): ItemMarks {
  return { parts: new Map([...parts].map(([part, mark]) => [part + by, mark])), whole };
}
