/** What the two processes of a pattern that Sluice is compared with share. */
export interface Place {
  redisUrl: string;
  prefix: string;
  queueName: string;
  upstreamUrl: string;
  concurrency: number;
}

export function placeVariables(place: Omit<Place, 'queueName'>): Record<string, string> {
  return {
    BENCH_REDIS_URL: place.redisUrl,
    BENCH_PREFIX: place.prefix,
    BENCH_UPSTREAM_URL: place.upstreamUrl,
    BENCH_CONCURRENCY: String(place.concurrency),
  };
}

export function readPlace(variables: NodeJS.ProcessEnv): Place {
  return {
    redisUrl: variables['BENCH_REDIS_URL'] ?? '',
    prefix: variables['BENCH_PREFIX'] ?? '',
    queueName: 'generate',
    upstreamUrl: variables['BENCH_UPSTREAM_URL'] ?? '',
    concurrency: Number(variables['BENCH_CONCURRENCY']),
  };
}

/** The channel on which the api of the bare job receives its answers. */
export function wakeChannel({ prefix }: Pick<Place, 'prefix'>): string {
  return `${prefix}:wake`;
}
