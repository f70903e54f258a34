import { add, addAll, type Counter, type Sums } from './sums.ts';

/** The length of a minute, and of each span in it, in milliseconds. */
export const minuteMs = 60_000;
export const spanMs = 10_000;

/** The first two characters of a field tell what it counts; see `add-minute.lua`. */
export const fieldOf = {
  span: 's:',
  model: 'm:',
  tenant: 't:',
  code: 'e:',
  process: 'p:',
  rest: 'r:',
} as const;

/** Most names of a kind that a process keeps for a minute. When there are more, the half with the lowest counts goes into the rest. */
const mostRemembered = 4_096;

/** Most names of a kind that a process adds at once: those with the highest counts. */
export const mostAddedAtOnce = 64;

/** The counters that are kept for each tenant. */
const ofTenants: ReadonlySet<string> = new Set<Counter>([
  'accepted',
  'failed',
  'refused',
  'input_tokens',
  'output_tokens',
]);

/** Sums by name, and those of the rest when there are too many names. */
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

  /** Keeps the names with the highest counts, and moves the others into the rest. */
  trim(most: number): void {
    if (this.#named.size <= most) return;
    const ranked = [...this.#named].map(([name, sums]) => ({ name, sums, activity: activityOf(sums) }));
    ranked.sort((one, other) => other.activity - one.activity);
    for (const { sums } of ranked.slice(most)) addAll(this.#rest, sums);
    this.#named = new Map(ranked.slice(0, most).map(({ name, sums }) => [name, sums]));
  }

  /** Fields with their texts: the names with the highest counts first, up to a number, and then the rest. */
  fields(kind: string, most: number): string[] {
    this.trim(most);
    const ranked = [...this.#named].toSorted(([, one], [, other]) => activityOf(other) - activityOf(one));
    const fields = ranked.flatMap(([name, sums]) => [`${kind}${name}`, JSON.stringify(sums)]);
    if (Object.keys(this.#rest).length > 0) fields.push(`${fieldOf.rest}${kind}`, JSON.stringify(this.#rest));
    return fields;
  }
}

/** Requests and tokens count the same, so a tenant that floods the service is among the first, with or without an answer. */
function activityOf(sums: Sums): number {
  let activity = 0;
  for (const count of Object.values(sums)) activity += count;
  return activity;
}

/** Counts of one process in one minute that are not added to the shared sums yet. */
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

  /** Drops names that would not be added, for a minute that is over and cannot be added yet. */
  trim(): void {
    for (const named of [this.#models, this.#tenants, this.#codes]) named.trim(mostAddedAtOnce);
  }

  /** The sums of the whole minute, without names. */
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
