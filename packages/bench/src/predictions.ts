import type { Arrival } from './upstream/paced-model.ts';

/** What the service said of a waiting response. Times are milliseconds since the epoch. */
export interface Forecast {
  tag: string;
  /** When it was asked. */
  at: number;
  /** Its place in the queue, from 1 on. Undefined if the service did not say. */
  position: number | undefined;
  startsAt: number | undefined;
}

/** A forecast beside what happened. */
export interface Prediction extends Forecast {
  /** How many started after it was asked, up to the response itself. */
  truePosition: number;
  trueStart: number;
}

/** Leaves out what the upstream has not seen, and what had started already when it was asked. */
export function compare(forecasts: readonly Forecast[], log: readonly Arrival[]): Prediction[] {
  const sorted = log.toSorted((a, b) => a.at - b.at);
  const places = new Map(sorted.map(({ tag }, place) => [tag, place]));
  return forecasts.flatMap((forecast) => {
    const place = places.get(forecast.tag);
    const trueStart = place === undefined ? undefined : sorted[place]?.at;
    if (place === undefined || trueStart === undefined || trueStart <= forecast.at) return [];
    const startedBefore = sorted.findIndex(({ at }) => at > forecast.at);
    return [{ ...forecast, truePosition: place - startedBefore + 1, trueStart }];
  });
}

/** In places; negative for one that started sooner. NaN if the service did not say. */
export function positionError({ position, truePosition }: Prediction): number {
  return truePosition - (position ?? Number.NaN);
}

/** In milliseconds; negative for one that started sooner. NaN if the service did not say. */
export function startError({ startsAt, trueStart }: Prediction): number {
  return trueStart - (startsAt ?? Number.NaN);
}

/** The share of errors within a part of the truth, or within a small number. An unknown error is not within anything. */
export function shareWithin(
  errors: readonly { error: number; truth: number }[],
  { part, small }: { part: number; small: number },
): number {
  const good = errors.filter(({ error, truth }) => Math.abs(error) <= Math.max(small, truth * part));
  return errors.length === 0 ? Number.NaN : good.length / errors.length;
}
