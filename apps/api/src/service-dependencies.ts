import type { Settings } from '@sluice/config';
import type { RedisKeys, Relay, Retention } from '@sluice/event-log';
import type { ResponseQueue } from '@sluice/queue';
import type { Logger } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** What everything that handles responses in an api process works with. */
export interface ServiceDependencies {
  settings: Pick<Settings, 'models' | 'limits' | 'timeouts' | 'recovery' | 'retention'>;
  redis: Redis;
  keys: RedisKeys;
  queue: ResponseQueue;
  relay: Relay;
  /** Lease and channel of this process. */
  apiProcess: string;
  /** The store's clock, in milliseconds. */
  now: () => number;
  logger: Logger;
}

/** A response that is not stored goes soon after its end, when its own caller must have read it, in milliseconds. */
const unstoredMs = 60_000;

export function retentionOf(
  { retention }: ServiceDependencies['settings'],
  request: { store?: boolean | undefined },
): Retention {
  if (request.store === false) return { recordMs: unstoredMs, logMs: unstoredMs };
  return { recordMs: retention.responseSeconds * 1000, logMs: retention.eventLogSeconds * 1000 };
}
