import type { Settings } from '@sluice/config';
import type { Files } from '@sluice/files';
import type { ResponseQueues } from '@sluice/queue';
import type { CallerStores } from '@sluice/response-store';
import type { Logger, Telemetry } from '@sluice/runtime';
import type { ContentSealer } from '@sluice/response-store/sealed-content';
import type { LiveSettings } from '@sluice/tenants';
import type { WebhookEndpoints } from '@sluice/webhooks';
import type { Memory } from '../cell-memories.ts';
import type { JsonReader } from '../bodies/json-reader.ts';

/** The parts that everything works with that handles responses in an api process. */
export interface ResponsesDependencies {
  settings: Pick<
    Settings,
    'models' | 'providers' | 'limits' | 'fairness' | 'timeouts' | 'recovery' | 'retention' | 'usage'
  >;
  live: Pick<LiveSettings, 'limits'>;
  store: CallerStores;
  json: Pick<JsonReader, 'countTokens' | 'pickItems' | 'pickPage' | 'pickUserMessages'>;
  queue: Pick<ResponseQueues, 'ahead' | 'defer' | 'departures' | 'enqueue' | 'order' | 'remove'>;
  /** Undefined where files are switched off. */
  files?: Pick<Files, 'get' | 'readWith'> | undefined;
  /** Undefined where webhooks are switched off. */
  webhooks?: Pick<WebhookEndpoints, 'checkUrlOfRequest'> | undefined;
  /** The sealer of a tenant's content. */
  sealerOf: (tenant: string) => ContentSealer;
  /** How full the memory of Redis is where a response is. */
  memoryOf: (responseId: string) => Memory;
  telemetry: Telemetry;
  /** The store's clock where a response is, or that of the first cell, in milliseconds. */
  now: (responseId?: string) => number;
  logger: Logger;
}
