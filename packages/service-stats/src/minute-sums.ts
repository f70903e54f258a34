import { add, addAll, type Counter, type Sums } from './sums.ts';

/** How long a minute is, and each of the spans that it is divided into, in milliseconds. */
export const minuteMs = 60_000;
export const spanMs = 10_000;

/** What a field of the hash of a minute is about, by its first two characters; see `add-minute.lua`. */
export const fieldOf = {
  span: 's:',
  model: 'm:',
  tenant: 't:',
  code: 'e:',
  process: 'p:',
  rest: 'r:',
} as const;

/** Most names of a kind that a process remembers of a minute. When there are more, the quieter half goes into the rest. */
const mostRemembered = 4_096;

/** Most names of a kind that a process adds at once: those of which it counted most. */
export const mostAddedAtOnce = 64;

/** Of a tenant this is kept, and no more. */
const ofTenants: ReadonlySet<string> = new Set<Counter>([
  'accepted',
  'failed',
  'refused',
  'input_tokens',
  'output_tokens',
]);

/** Sums by names of a kind, and of the rest when there are too many names. */
class NamedSums {
  #named = new Map<string, Sums>();
  readonly #rest: Sums = {};

  of(name: string): Sums {
    const known = this.#named.get(name);
    if (known) return known;
    if (this.#named.size >= mostRemembered) this.trim(mostRemembered / 2);
    const sums: Sums = {};
    this.#named.set(name, sums);
    return sums;
  }

  /** Leaves those with the highest counts; the others go into the rest. */
  trim(most: number): void {
    if (this.#named.size <= most) return;
    const ranked = [...this.#named].map(([name, sums]) => ({ name, sums, activity: activityOf(sums) }));
    ranked.sort((one, other) => other.activity - one.activity);
    for (const { sums } of ranked.slice(most)) addAll(this.#rest, sums);
    this.#named = new Map(ranked.slice(0, most).map(({ name, sums }) => [name, sums]));
  }

  /** Fields with their texts, those with the highest counts first, at most so many and the rest. */
  fields(kind: string, most: number): string[] {
    this.trim(most);
    const ranked = [...this.#named].toSorted(([, one], [, other]) => activityOf(other) - activityOf(one));
    const fields = ranked.flatMap(([name, sums]) => [`${kind}${name}`, JSON.stringify(sums)]);
    if (Object.keys(this.#rest).length > 0) fields.push(`${fieldOf.rest}${kind}`, JSON.stringify(this.#rest));
    return fields;
  }
}

/** Requests and tokens count the same: whoever floods is among the first, with or without an answer. */
function activityOf(sums: Sums): number {
  let activity = 0;
  for (const count of Object.values(sums)) activity += count;
  return activity;
}

/** What a process counted in one minute and has not added to the sums of all yet. */
export class MinuteSums {
  readonly #spans = new Map<number, Sums>();
  readonly #models = new NamedSums();
  readonly #tenants = new NamedSums();
  readonly #codes = new NamedSums();

  /** Counts something at a moment of this minute, by the store's clock. */
  count(
    at: number,
    { tenant, model }: { tenant: string | undefined; model: string | undefined },
    name: string,
    by = 1,
  ): void {
    const span = Math.floor((at % minuteMs) / spanMs);
    let sums = this.#spans.get(span);
    if (!sums) this.#spans.set(span, (sums = {}));
    add(sums, name, by);
    if (model !== undefined) add(this.#models.of(model), name, by);
    if (tenant !== undefined && ofTenants.has(name)) add(this.#tenants.of(tenant), name, by);
  }

  /** Counts the error code of a response that failed. */
  countCode(code: string): void {
    add(this.#codes.of(code), 'count', 1);
  }

  /** Keeps what would be added, for a minute that is over and cannot be added yet. */
  trim(): void {
    for (const named of [this.#models, this.#tenants, this.#codes]) named.trim(mostAddedAtOnce);
  }

  /** Everything of the minute, without names. */
  total(): Sums {
    const total: Sums = {};
    for (const sums of this.#spans.values()) addAll(total, sums);
    return total;
  }

  /** Fields and their texts in turn, as `add-minute.lua` takes them. */
  fields(): string[] {
    return [
      ...[...this.#spans].flatMap(([span, sums]) => [`${fieldOf.span}${span}`, JSON.stringify(sums)]),
      ...this.#models.fields(fieldOf.model, mostAddedAtOnce),
      ...this.#tenants.fields(fieldOf.tenant, mostAddedAtOnce),
      ...this.#codes.fields(fieldOf.code, mostAddedAtOnce),
    ];
  }
}
