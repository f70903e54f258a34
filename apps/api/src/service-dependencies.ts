import type { Settings } from '@sluice/config';
import type { RedisKeys, Relay } from '@sluice/event-log';
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
