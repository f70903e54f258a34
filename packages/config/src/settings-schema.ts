import { z } from 'zod';
import { consoleSchema } from './console-schema.ts';
import { filesSchema } from './files-schema.ts';
import { keySchema } from './key-schema.ts';
import { modelsSchema } from './model-schema.ts';
import { providerSchema } from './provider-schema.ts';
import { recoverySchema } from './recovery-schema.ts';
import { retentionSchema } from './retention-schema.ts';
import { usageSchema } from './usage-schema.ts';
import {
  cidr,
  credential,
  host,
  milliseconds,
  origin,
  port,
  redisUrl,
  text,
  weight,
  wholeNumber,
} from './value-schemas.ts';
import { webhooksSchema } from './webhooks-schema.ts';

/** The longest string of V8, because a body is parsed as one string. */
const longestString = 2 ** 29 - 24;

/** The most bytes that are read of one upstream's answer, with its framing (`maxAnswerBytes` in providers). */
const largestAnswer = 128 * 1024 * 1024;

/** Where the service listens by default. The checks between settings use it, too. */
export const listenDefaults = { host: '127.0.0.1', port: 3000, adminHost: '127.0.0.1', adminPort: 3001 };
/** The size of one request body, and of all that an api holds at a time, by default. */
export const limitDefaults = { bodyBytes: 67_108_864, bodyBytesInFlight: 134_217_728 };
/**
 * Every setting of the service, each with its description, unit and default. A new setting is one field here: this schema
 * checks the operator's file, the environment and the flags, and the reference page is rendered from it.
 */
export const settingsSchema = z.strictObject({
  server: z
    .strictObject({
      host: host.default(listenDefaults.host).meta({ description: 'Address on which the API listens.' }),
      port: port().default(listenDefaults.port).meta({ description: 'Port of the API; 0 takes a free one.' }),
      adminHost: host.default(listenDefaults.adminHost).meta({
        description:
          'Address of the admin listener (metrics and dashboard). An address other than loopback needs an admin token.',
      }),
      adminPort: port()
        .default(listenDefaults.adminPort)
        .meta({ description: 'Port of the admin listener; 0 takes a free one.' }),
      adminToken: credential(8).exactOptional().meta({
        description:
          'Credential for the admin listener and for the metrics of a worker. Without it they answer on loopback only.',
      }),
      adminActionToken: credential(8).exactOptional().meta({
        description:
          'Credential for changes through the admin listener, and for the content of responses. Without it nothing can be changed there.',
      }),
      webSockets: z.boolean().default(true).meta({
        description:
          'Whether responses can be created over WebSockets. Clients that get none fall back to HTTP.',
      }),
      corsOrigins: z.array(origin()).max(100).default([]).meta({
        description:
          'Origins whose pages may call the API from a browser, such as `https://chat.example.com`; `*` is any. No cookies are involved: a page can do what the key that it sends may do. The admin listener is open to none.',
      }),
      trustedProxies: z.array(cidr()).max(100).default([]).meta({
        description:
          'Networks of your proxies, such as `10.0.0.0/8`, whose `X-Forwarded-For` is believed. It tells clients apart that fail to log in, and nothing else.',
      }),
    })
    .prefault({})
    .meta({ description: 'Where the service listens.' }),
  redisUrl: redisUrl.exactOptional().meta({
    description:
      'Address of Redis or Valkey, of one of its Sentinels (`?sentinel=NAME`) or of a node of a cluster (`?cluster`); see [deployment.md](deployment.md#the-store). Several, separated by spaces, are the cells of a service that has outgrown one primary; see [operating.md](operating.md#cells). Without it, `start` runs a store of its own, which keeps its data in `dataDir`.',
  }),
  keyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,64}$/, 'must be 1 to 64 letters, digits or . _ : -')
    .default('sluice:')
    .meta({
      description: 'Prefix of every Redis key and channel. Services that share a Redis need different ones.',
    }),
  encryptionKeys: z.array(credential(32)).max(16).default([]).meta({
    description:
      'Secrets that seal the data that clients keep for the service: encrypted reasoning and compactions. Random ones, such as `openssl rand -base64 32` prints. The first seals, and all open: to change it, put a new one first and keep the old one for as long as its content is to be taken back. Without any, the service makes one and keeps it in Redis.',
    secret: true,
  }),
  logLevel: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .meta({ description: 'The lowest severity that is logged.' }),
  dataDir: text().default('./.data').meta({
    description:
      'Folder for the development key and for the store that `start` runs, relative to the working directory.',
  }),
  drainTimeoutMs: milliseconds(0).default(30_000).meta({
    description:
      'How long a stopping process may take. Running work has four fifths of it; then it is given back, or fails if its output was visible. Make it a quarter longer than the longest answer.',
  }),
  workerConcurrency: wholeNumber(1, 10_000).default(32).meta({
    description:
      'Most requests that a worker runs at a time, for each model. Models with one queue share them. With several cells it should be no less than their number, for a worker runs one in each all the same.',
  }),
  workerHealthPort: port().exactOptional().meta({
    description:
      'Port on which a worker answers /healthz and /readyz, and /metrics and /upstreams with the admin token. Without it a worker opens no port.',
  }),
  workers: wholeNumber(1, 64).default(1).meta({ description: 'How many workers `start` runs.' }),
  discover: z.enum(['on', 'off']).default('on').meta({
    description:
      'Whether `start` without a settings file, on loopback, also offers what is plainly there: OpenAI and Anthropic by their keys in the environment, and an Ollama on this machine.',
  }),
  providers: z.array(providerSchema).max(1000).meta({
    description:
      'Upstreams that run models. Without `providers` and `models`, the simulator and its models are served.',
  }),
  models: modelsSchema,
  keys: z.array(keySchema).max(100_000).default([]).meta({
    description:
      'API keys of tenants, beside those that `sluice keys create` makes. Without any key, the service makes a development key and listens on loopback only. Changes take effect while it runs.',
  }),
  limits: z
    .strictObject({
      queued: wholeNumber(1, 2_000_000).default(100_000).meta({
        description: 'Most responses that may wait at a time, over all tenants, in each cell.',
      }),
      queuedBytes: wholeNumber(1024, 1_099_511_627_776).default(4_294_967_296).meta({
        description: 'Most bytes that the requests of waiting responses may take together, in each cell.',
        unit: 'bytes',
      }),
      redisMemoryPercent: wholeNumber(1, 100).default(80).meta({
        description:
          'How full the memory of Redis may be before new work is refused with 503. Of its `maxmemory`, or of the machine where it has none.',
        unit: '%',
      }),
      bodyBytes: wholeNumber(1024, longestString)
        .default(limitDefaults.bodyBytes)
        .meta({ description: 'Largest size of a request body.', unit: 'bytes' }),
      bodyBytesInFlight: wholeNumber(2048, 1_099_511_627_776).default(limitDefaults.bodyBytesInFlight).meta({
        description:
          'Most bytes of request bodies, until they are accepted, and of long answers, until they are read, that an api holds at a time. A tenant may use half. At least twice `bodyBytes`.',
        unit: 'bytes',
      }),
      webSocketsPerTenant: wholeNumber(1, 1_000_000).default(1000).meta({
        description: 'Most WebSockets that a tenant may have open at a time, in each api.',
      }),
      webSocketContextBytes: wholeNumber(1024, 1_099_511_627_776).default(268_435_456).meta({
        description:
          'Most bytes that an api keeps so that clients of WebSockets can continue responses that are not stored. A tenant may use half. When it is full, the oldest context goes first, and its client sends the whole again.',
        unit: 'bytes',
      }),
      outputBytes: wholeNumber(1024, largestAnswer).default(16_777_216).meta({
        description:
          'Most bytes that a model may say in one answer: texts, arguments, annotations and logprobs. An answer that exceeds this or one of the next two limits is broken off, and its response fails.',
        unit: 'bytes',
      }),
      outputItems: wholeNumber(1, 100_000)
        .default(4096)
        .meta({ description: 'Most messages, reasonings and function calls in one answer.' }),
      outputEvents: wholeNumber(1, 10_000_000).default(250_000).meta({
        description:
          'Most events that the pieces of one answer may lead to, and most events of an upstream that lead to none.',
      }),
      contextBytes: wholeNumber(1024, longestString).default(67_108_864).meta({
        description:
          'Most bytes of earlier input and output that a response may continue from (`previous_response_id`).',
        unit: 'bytes',
      }),
      contextTurns: wholeNumber(1, 10_000).default(1000).meta({
        description: 'Most earlier responses that one may continue from, or refer to items of.',
      }),
    })
    .prefault({})
    .meta({ description: 'Limits of the whole service.' }),
  fairness: z
    .strictObject({
      batchWeight: weight()
        .default(0.1)
        .meta({ description: 'Weight of the tier `batch`, in which the lines of batches run.' }),
      flexWeight: weight().default(0.25).meta({ description: 'Weight of the tier `flex`.' }),
      defaultWeight: weight().default(1).meta({ description: 'Weight of the tier `default`.' }),
      priorityWeight: weight().default(4).meta({ description: 'Weight of the tier `priority`.' }),
    })
    .prefault({})
    .meta({
      description:
        'How the service tiers share a busy model. A response has the weight of its tenant times that of its tier. No tier can starve another.',
    }),
  durability: z.enum(['local', 'fsync', 'replica']).default('local').meta({
    description:
      'How safe a response and its end are before anybody is told of them: on the server, whatever that survives; on its disk (Redis 7.2 or newer, with a log); or on a replica, so that a failover loses nothing.',
  }),
  timeouts: z
    .strictObject({
      queueMs: milliseconds().default(600_000).meta({ description: 'Longest wait in the queue.' }),
      backgroundQueueMs: milliseconds()
        .default(86_400_000)
        .meta({ description: 'Longest wait in the queue for a background response.' }),
      durabilityMs: wholeNumber(10, 4000).default(1000).meta({
        description:
          'Longest wait for the `durability` of a write. After it the request is refused with 503.',
        unit: 'ms',
      }),
      connectMs: milliseconds()
        .default(5000)
        .meta({ description: 'Longest time to connect to an upstream.' }),
      firstTokenMs: milliseconds()
        .default(60_000)
        .meta({ description: 'Longest time from a request to an upstream to its first token.' }),
      idleMs: milliseconds()
        .default(60_000)
        .meta({ description: 'Longest silence between two pieces of an answer.' }),
      totalMs: milliseconds()
        .default(1_800_000)
        .meta({ description: 'Longest time from the first attempt to the end, over all attempts.' }),
      syncWaitMs: milliseconds().default(570_000).meta({
        description: 'How long a request is held open that neither streams nor runs in the background.',
      }),
    })
    .prefault({})
    .meta({ description: 'How long things may take.' }),
  recovery: recoverySchema,
  dashboard: z
    .strictObject({
      keepCompleted: wholeNumber(0, 100_000).default(100).meta({
        description:
          'Completed jobs kept for each queue, as a sample of those that complete fast. Large numbers cost throughput.',
      }),
      keepFailed: wholeNumber(0, 100_000)
        .default(1000)
        .meta({ description: 'Failed jobs kept for each queue.' }),
    })
    .prefault({})
    .meta({ description: 'How many finished jobs the dashboard shows. It never shows content.' }),
  console: consoleSchema,
  retention: retentionSchema,
  webhooks: webhooksSchema,
  usage: usageSchema,
  files: filesSchema,
});

/** The output of the schema, before keys are hashed and models completed. */
export type ParsedSettings = z.output<typeof settingsSchema>;
