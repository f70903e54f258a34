/** A figure over several rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** The value below which a share of the samples lies, by nearest rank. NaN if there are none. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. NaN if there are none. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[sorted.length / 2 - 1] ?? Number.NaN) + upper) / 2;
}

export function spread(samples: readonly number[]): Spread {
  return { median: median(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

export function sum(samples: readonly number[]): number {
  return samples.reduce((total, sample) => total + sample, 0);
}
