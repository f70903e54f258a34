import type { JsonObject } from '../json-fields.ts';
import { exampleFromPattern } from './example-from-pattern.ts';
import { lengthOf, type SchemaWalk } from './schema-walk.ts';

/** Strings and numbers for examples. `variant` is the position in a list, so that its values can differ. */

/** A string of the format or pattern, and of the length, that the schema demands; undefined when there is none. */
export function exampleString(schema: JsonObject, variant: number): string | undefined {
  const { format, pattern, minLength, maxLength } = schema;
  const least = typeof minLength === 'number' ? minLength : 0;
  const most = typeof maxLength === 'number' ? maxLength : Number.POSITIVE_INFINITY;
  if (least > most || least > maxMadeLength) return undefined;
  const formatted =
    (typeof format === 'string' ? formats.get(format)?.(variant) : undefined) ??
    (typeof pattern === 'string' ? exampleFromPattern(pattern, variant) : undefined);
  if (formatted !== undefined) {
    const length = lengthOf(formatted);
    return length >= least && length <= most ? formatted : undefined;
  }
  const suffix = variant === 0 ? '' : String(variant + 1);
  const word = `example${suffix}`;
  // The end is kept, because variants differ there.
  if (word.length > most) return word.slice(word.length - most);
  return word.padEnd(least, ' example');
}

const maxMadeLength = 100_000;

const formats: ReadonlyMap<string, (variant: number) => string> = new Map([
  ['date-time', (variant) => `2026-01-${day(variant)}T12:00:00Z`],
  ['date', (variant) => `2026-01-${day(variant)}`],
  ['time', (variant) => `12:${day(variant)}:00Z`],
  ['duration', (variant) => `P${variant + 1}D`],
  ['email', (variant) => `user${variant + 1}@example.com`],
  ['idn-email', (variant) => `user${variant + 1}@example.com`],
  ['hostname', (variant) => `host${variant + 1}.example.com`],
  ['ipv4', (variant) => `192.0.2.${(variant % 250) + 1}`],
  ['ipv6', (variant) => `2001:db8::${(variant + 1).toString(16)}`],
  ['uri', (variant) => `https://example.com/${variant + 1}`],
  ['url', (variant) => `https://example.com/${variant + 1}`],
  ['uri-reference', (variant) => `/example/${variant + 1}`],
  ['uuid', (variant) => `00000000-0000-4000-8000-${(variant + 1).toString(16).padStart(12, '0')}`],
  ['json-pointer', (variant) => `/example/${variant + 1}`],
]);

function day(variant: number): string {
  return String((variant % 28) + 1).padStart(2, '0');
}

/**
 * A number within the limits, 1 where possible; undefined when no number fits.
 *
 * Multiples of a whole step are computed. Multiples of other steps are tried one by one, paid for from the walk.
 */
export function exampleNumber(
  schema: JsonObject,
  isInteger: boolean,
  { variant, walk }: { variant: number; walk: SchemaWalk },
): number | undefined {
  const low = boundOf(schema['minimum'], schema['exclusiveMinimum'], Math.max);
  const high = boundOf(schema['maximum'], schema['exclusiveMaximum'], Math.min);
  const { multipleOf } = schema;
  const hasStep = typeof multipleOf === 'number' && multipleOf > 0;
  const step = hasStep ? multipleOf : 1;
  const allowed = (value: number) =>
    Number.isFinite(value) &&
    (!isInteger || Number.isInteger(value)) &&
    (low === undefined || value > low.value || (value === low.value && !low.isExclusive)) &&
    (high === undefined || value < high.value || (value === high.value && !high.isExclusive));
  const first = low === undefined ? Number.NEGATIVE_INFINITY : Math.floor(low.value / step);
  const last = high === undefined ? Number.POSITIVE_INFINITY : Math.ceil(high.value / step);
  const start = Math.min(Math.max(1, first), last);
  if (Number.isInteger(step)) {
    const value =
      step * nthOutwards(variant, start, { first, last, allowed: (times) => allowed(times * step) });
    if (Math.abs(value) <= maxCounted) return value;
  }
  // Values that floating point divides without a remainder come first: some validators accept no others.
  for (const isExact of hasStep ? [true, false] : [false]) {
    let found = 0;
    for (const times of outwards(start, first, last)) {
      if (!walk.spend(0.5)) return undefined;
      const value = Number((times * step).toPrecision(15));
      if (!allowed(value) || (isExact && !Number.isInteger(value / step))) continue;
      if (found === variant) return value;
      found += 1;
    }
  }
  if (hasStep || isInteger || low === undefined || high === undefined) return undefined;
  const between = low.value + (high.value - low.value) / (variant + 2);
  return allowed(between) ? between : undefined;
}

interface Steps {
  first: number;
  last: number;
  allowed: (times: number) => boolean;
}

/** The value that `outwards` would reach after skipping `variant` allowed steps, computed directly; NaN for none. */
function nthOutwards(variant: number, start: number, { first, last, allowed }: Steps): number {
  // Everything between allowed ends is allowed; only the ends may be excluded.
  const lowest = first === Number.NEGATIVE_INFINITY ? first : [first, first + 1].find(allowed);
  const highest = last === Number.POSITIVE_INFINITY ? last : [last, last - 1].find(allowed);
  if (lowest === undefined || highest === undefined) return Number.NaN;
  const from = Math.min(Math.max(start, lowest), highest);
  const upwards = from + variant;
  if (upwards <= highest) return upwards;
  const downwards = from - 1 - (variant - (highest - from + 1));
  return downwards >= lowest ? downwards : Number.NaN;
}

/** Counts upwards from the preferred number of steps, then downwards. Either end may be excluded. */
function* outwards(start: number, first: number, last: number): Generator<number, void, undefined> {
  for (let times = start; times <= last && times < start + maxTried; times += 1) yield times;
  for (let times = start - 1; times >= first && times > start - maxTried; times -= 1) yield times;
}

/** Steps tried in each direction. Only limits that contradict each other would need more. */
const maxTried = 2000;

/** Whole numbers beyond this need more than the 15 digits that are kept. */
const maxCounted = 1e15;

interface Bound {
  value: number;
  isExclusive: boolean;
}

/** A limit in either spelling: a number of its own, or the older flag beside the inclusive limit. */
function boundOf(
  inclusive: unknown,
  exclusive: unknown,
  stricter: (a: number, b: number) => number,
): Bound | undefined {
  const plain = typeof inclusive === 'number' ? inclusive : undefined;
  if (typeof exclusive !== 'number') {
    return plain === undefined ? undefined : { value: plain, isExclusive: exclusive === true };
  }
  const value = plain === undefined ? exclusive : stricter(plain, exclusive);
  return { value, isExclusive: value === exclusive };
}
