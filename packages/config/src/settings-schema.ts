import { z } from 'zod';
import { keySchema } from './key-schema.ts';
import { modelSchema } from './model-schema.ts';
import { providerSchema } from './provider-schema.ts';
import { credential, milliseconds, port, seconds, text, wholeNumber } from './value-schemas.ts';

/** The longest text V8 can hold, and a body is parsed as one. */
const longestString = 2 ** 29 - 24;

/** Renewed every third of it at the latest, a shorter lease would be lost to pauses that busy machines do make. */
const shortestLockMs = 3000;

/** Where the service listens unless told otherwise; also what the checks between settings start from. */
export const listenDefaults = { host: '127.0.0.1', port: 3000, adminHost: '127.0.0.1', adminPort: 3001 };
/** The lease on a job and the scan for expired ones, unless told otherwise. */
export const recoveryDefaults = { lockMs: 10_000, stalledMs: 3000 };

const host = z
  .string()
  .regex(
    /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*|[A-Za-z0-9._-]{1,253})$/,
    'must be an IP address or a host name',
  );

const redisUrl = z
  .string()
  .refine(isRedisUrl, 'must be an address such as redis://user:password@127.0.0.1:6379/0 (rediss:// for TLS)')
  .meta({ secret: true });

/**
 * Every setting of the service, each with its description, unit and default. The same schema checks the
 * operator's file with the environment and the flags laid over it, redacts what is printed, and renders the
 * page of reference: a new setting is one field here.
 */
export const settingsSchema = z.strictObject({
  server: z
    .strictObject({
      host: host.default(listenDefaults.host).meta({ description: 'Address the API listens on.' }),
      port: port().default(listenDefaults.port).meta({ description: 'Port of the API; 0 takes a free one.' }),
      adminHost: host.default(listenDefaults.adminHost).meta({
        description:
          'Address the admin listener (metrics, dashboards) listens on. Anything but loopback needs an admin token.',
      }),
      adminPort: port()
        .default(listenDefaults.adminPort)
        .meta({ description: 'Port of the admin listener; 0 takes a free one.' }),
      adminToken: credential(8).exactOptional().meta({
        description: 'Credential of the admin listener; absent, it answers on loopback only.',
      }),
    })
    .prefault({})
    .meta({ description: 'Where the service listens.' }),
  redisUrl: redisUrl.exactOptional().meta({
    description: 'Redis or Valkey; absent, `start` brings a store of its own, kept in the data directory.',
  }),
  keyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must be 1 to 64 letters, digits or . _ : -')
    .default('sluice:')
    .meta({
      description: 'What every Redis key and channel begins with; services on one Redis need different ones.',
    }),
  logLevel: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .meta({ description: 'The least severe log line that is written.' }),
  dataDir: text().default('./.data').meta({
    description:
      'Folder of the development key and of a store of our own, relative to the working directory.',
  }),
  drainTimeoutMs: milliseconds(0)
    .default(30_000)
    .meta({ description: 'How long a stopping process lets running work finish.' }),
  workerConcurrency: wholeNumber(1, 10_000)
    .default(32)
    .meta({ description: 'Requests a worker process runs at a time, for each model.' }),
  workerHealthPort: port().exactOptional().meta({
    description: 'Port on which a worker answers /healthz, /readyz and /metrics; absent, it opens none.',
  }),
  workers: wholeNumber(1, 64).default(1).meta({ description: 'Worker processes that `start` runs.' }),
  providers: z.array(providerSchema).max(1000).meta({
    description:
      'Upstreams that run models. With neither `providers` nor `models`, the simulator and its models are served.',
  }),
  models: z.array(modelSchema).min(1).max(10_000).meta({ description: 'What clients may name as `model`.' }),
  keys: z.array(keySchema).max(100_000).default([]).meta({
    description:
      'API keys of tenants. With none, a development key is made and the service listens on loopback only.',
  }),
  limits: z
    .strictObject({
      queued: wholeNumber(1, 10_000_000)
        .default(100_000)
        .meta({ description: 'Responses that wait at a time, over all tenants.' }),
      queuedBytes: wholeNumber(1024, Number.MAX_SAFE_INTEGER)
        .default(4_294_967_296)
        .meta({ description: 'Size of their inputs together.', unit: 'bytes' }),
      bodyBytes: wholeNumber(1024, longestString)
        .default(67_108_864)
        .meta({ description: 'Size of one request body.', unit: 'bytes' }),
    })
    .prefault({})
    .meta({ description: 'Bounds of the whole service.' }),
  timeouts: z
    .strictObject({
      queueMs: milliseconds().default(600_000).meta({ description: 'Longest wait in the queue.' }),
      backgroundQueueMs: milliseconds()
        .default(86_400_000)
        .meta({ description: 'Longest wait in the queue of a background response.' }),
      connectMs: milliseconds().default(5000).meta({ description: 'Connecting to an upstream.' }),
      firstTokenMs: milliseconds()
        .default(60_000)
        .meta({ description: 'From the request to the first token of an upstream.' }),
      idleMs: milliseconds()
        .default(60_000)
        .meta({ description: 'Silence between two pieces of an answer.' }),
      totalMs: milliseconds()
        .default(1_800_000)
        .meta({ description: 'From the first claim by a worker to the end, over all attempts.' }),
      syncWaitMs: milliseconds().default(570_000).meta({
        description: 'How long a request that neither streams nor runs in the background is held open.',
      }),
    })
    .prefault({})
    .meta({ description: 'How long things may take.' }),
  recovery: z
    .strictObject({
      lockMs: milliseconds(shortestLockMs).default(recoveryDefaults.lockMs).meta({
        description:
          "A worker's lease on a job. A job of a dead worker runs again after this and two scans, at the latest.",
      }),
      stalledMs: milliseconds(100)
        .default(recoveryDefaults.stalledMs)
        .meta({ description: 'Interval of the scan for expired leases.' }),
      maxAttempts: wholeNumber(1, 100)
        .default(2)
        .meta({ description: 'How often an upstream is asked for one response before it fails.' }),
      disconnectGraceMs: milliseconds(0).default(0).meta({
        description: 'How long a response outlives the caller who left it.',
      }),
      retryGraceMs: milliseconds(0).default(30_000).meta({
        description: 'The same for a response with an Idempotency-Key, or whose API process is draining.',
      }),
    })
    .prefault({})
    .meta({ description: 'What happens when a process or a caller is lost.' }),
  dashboard: z
    .strictObject({
      keepCompleted: wholeNumber(0, 100_000)
        .default(100)
        .meta({ description: 'Finished jobs kept for each model. Large numbers cost throughput.' }),
      keepFailed: wholeNumber(0, 100_000)
        .default(1000)
        .meta({ description: 'Failed jobs kept for each model.' }),
    })
    .prefault({})
    .meta({ description: 'What the queue dashboard can look back on; it never shows content.' }),
  retention: z
    .strictObject({
      responseSeconds: seconds().default(86_400).meta({ description: 'Life of a stored response.' }),
      eventLogSeconds: seconds().default(3600).meta({
        description:
          'Life of its events after the end, for streams that resume; never longer than the response.',
      }),
      idempotencySeconds: seconds().default(86_400).meta({ description: 'Life of an Idempotency-Key.' }),
    })
    .prefault({})
    .meta({ description: 'How long things are kept.' }),
});

/** What the schema makes of a valid input, before keys are hashed and models completed. */
export type ParsedSettings = z.output<typeof settingsSchema>;

function isRedisUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'redis:' || url.protocol === 'rediss:') && url.hostname !== '';
}
