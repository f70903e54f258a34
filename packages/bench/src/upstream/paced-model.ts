/** What a model of the paced upstream does. Its name says it: `paced-<serviceMs>-<slots>-<tokens>`. */
export interface PacedModel {
  /** From the request to the end of its answer. */
  serviceMs: number;
  /**
   * How many requests are meant to run at a time: answers end at least `serviceMs / slots` apart. With 0, each ends
   * `serviceMs` after it began, whatever the others do.
   */
  slots: number;
  /** The first is written at once, and the others at the end. */
  tokens: number;
}

export function pacedModelName({ serviceMs, slots, tokens }: PacedModel): string {
  return `paced-${serviceMs}-${slots}-${tokens}`;
}

/** Finds the model in a request without parsing the rest of it. */
export function pacedModelIn(body: string): PacedModel | undefined {
  const found = /"model":"paced-(\d{1,6})-(\d{1,5})-(\d{1,5})"/.exec(body);
  return found
    ? { serviceMs: Number(found[1]), slots: Number(found[2]), tokens: Number(found[3]) }
    : undefined;
}

/** When answers end. It keeps those of a model with slots apart. */
export class Pace {
  /** When the latest answer of each model ends. */
  readonly #lastEnds = new Map<string, number>();

  /** When the answer to a request ends that comes `at` that time. Requests are given in the order of coming. */
  endOf(model: PacedModel, at: number): number {
    if (model.slots === 0) return at + model.serviceMs;
    const name = pacedModelName(model);
    const notBefore = (this.#lastEnds.get(name) ?? 0) + releaseMs(model);
    const end = Math.max(at + model.serviceMs, notBefore);
    this.#lastEnds.set(name, end);
    return end;
  }
}

/** The mean time between two ends when every slot is busy, in milliseconds. */
export function releaseMs({ serviceMs, slots }: Pick<PacedModel, 'serviceMs' | 'slots'>): number {
  return serviceMs / slots;
}

/** Marks a request, so that it is found again in the upstream's log. */
export function tagged(input: string, tag: string): string {
  return `${input} #${tag}#`;
}

export function tagIn(body: string): string | undefined {
  return /#([\w.-]+)#/.exec(body)?.[1];
}

/** A request as the upstream saw it. Times are milliseconds since the epoch. */
export interface Arrival {
  tag: string;
  at: number;
  /** Undefined while it runs. */
  endedAt?: number;
}

/** What the process of the upstream is asked. `forget` empties its log. */
export interface UpstreamQuestion {
  ask: 'forget' | 'count' | 'log';
}

export interface UpstreamCount {
  arrived: number;
  ended: number;
}
