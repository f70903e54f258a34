import { z } from 'zod';
import { count, countedSchema, moment, span } from './values.ts';

/** What happened in a span of time: responses by what became of them, and tokens. */
const figures = {
  accepted: count,
  completed: count,
  incomplete: count,
  failed: count,
  cancelled: count,
  /** Requests to create a response that were refused with 429 or 503. */
  refused: count,
  input_tokens: count,
  output_tokens: count,
  /** From the request to the first output on the stream; null when there was none. */
  first_token_p50_ms: span.nullable(),
  first_token_p99_ms: span.nullable(),
  /** From the accept to the first attempt; of those that began. */
  wait_p50_ms: span.nullable(),
  wait_p99_ms: span.nullable(),
  /** From the first attempt to the end; of those that ended after one. */
  run_p50_ms: span.nullable(),
  run_p99_ms: span.nullable(),
};

export const bucketSchema = z.object({ at: moment, ...figures });
export type Bucket = z.output<typeof bucketSchema>;

export const queueOverviewSchema = z.object({
  queue: z.string(),
  models: z.array(z.string()),
  paused: z.boolean(),
  waiting: count,
  active: count,
  /** How long the one has waited that waits longest; null when none does. */
  oldest_wait_ms: span.nullable(),
  /** Most that may run at a time over all workers; null for as many as there are slots. */
  concurrency: count.nullable(),
  /** Slots of all workers together; null when the service keeps no statistics, so that nobody knows them. */
  slots: count.nullable(),
});
export type QueueOverview = z.output<typeof queueOverviewSchema>;

/** What one worker says of a model of an upstream. */
const upstreamModelSchema = z.object({
  model: z.string(),
  /** How much longer it takes no calls, because there were too many; 0 when it does. */
  parked_ms: span,
  in_flight: count,
  limit: count.nullable(),
  calls_per_second: z.number().nullable(),
  waiting: count,
});

/** The address of the server; absent where the provider has one alone. */
const upstreamServer = z.string().exactOptional();

/** An upstream over all workers: the worst of their breakers, and the sum of what they have under way. */
export const upstreamOverviewSchema = z.object({
  provider: z.string(),
  server: upstreamServer,
  breaker: z.enum(['closed', 'half_open', 'open']),
  /** Workers whose breaker is not closed, of all that report. */
  workers_open: count,
  workers: count,
  metrics_fault: z.string().nullable(),
  /** The variable with its key that a worker lacks, whose calls fail; absent where none does. */
  missing_variable: z.string().exactOptional(),
  models: z.array(upstreamModelSchema),
});
export type UpstreamOverview = z.output<typeof upstreamOverviewSchema>;

/** What a process says of itself. */
const saidMembers = {
  host: z.string(),
  pid: z.int(),
  version: z.string(),
  started_at: moment,
  stopping: z.boolean(),
};
const apiMembers = { role: z.literal('api'), ...saidMembers, open_requests: count, web_sockets: count };
const workerMembers = {
  role: z.literal('worker'),
  ...saidMembers,
  running: count,
  slots: z.array(z.object({ queue: z.string(), running: count, slots: count })),
  /** When it last took or ended something; null when it never did. */
  active_at: moment.nullable(),
};

/** What each process writes into Redis every few seconds, and what processes of other releases must be able to read. */
export const announcementSchema = z.discriminatedUnion('role', [
  z.object(apiMembers),
  z.object({
    ...workerMembers,
    upstreams: z.array(
      z.object({
        provider: z.string(),
        server: upstreamServer,
        breaker: z.enum(['closed', 'half_open', 'open']),
        metrics_fault: z.string().nullable(),
        missing_variable: z.string().exactOptional(),
        models: z.array(upstreamModelSchema),
      }),
    ),
  }),
]);
export type Announcement = z.output<typeof announcementSchema>;
export type ApiAnnouncement = Extract<Announcement, { role: 'api' }>;
export type WorkerAnnouncement = Extract<Announcement, { role: 'worker' }>;

const heardMembers = {
  id: z.string(),
  /** When it was heard of last. One that is silent for too long is left out. */
  seen_at: moment,
};
export const processOverviewSchema = z.discriminatedUnion('role', [
  z.object({ ...apiMembers, ...heardMembers }),
  z.object({ ...workerMembers, ...heardMembers }),
]);
export type ProcessOverview = z.output<typeof processOverviewSchema>;

export const tenantUseSchema = z.object({
  tenant: z.string(),
  accepted: count,
  failed: count,
  refused: count,
  input_tokens: count,
  output_tokens: count,
});

export const modelUseSchema = z.object({ model: z.string(), ...figures });

export const redisOverviewSchema = z.object({
  used_bytes: count,
  /** `maxmemory`, or the machine's memory where it has none; null when nobody can tell. */
  limit_bytes: count.nullable(),
  used_percent: z.number().nullable(),
  /** Past this new work is refused. */
  refuses_at_percent: z.number(),
  version: z.string(),
  is_persistent: z.boolean(),
  /** Cells whose Redis does not answer or takes no writes; absent when there are none. */
  cells_away: z.array(z.string()).optional(),
});

/** The page that an operator sees first. Sums are of the last hour. */
export const overviewSchema = z.object({
  object: z.literal('overview'),
  at: moment,
  bucket_seconds: z.int().min(1),
  /** Oldest first, without gaps, to the present one, which still grows. */
  buckets: z.array(bucketSchema),
  hour: z.object(figures),
  /** Error codes of failed responses. */
  errors: z.array(countedSchema),
  models: z.array(modelUseSchema),
  /** Those that were busiest, most tokens first. */
  tenants: z.array(tenantUseSchema),
  queues: z.array(queueOverviewSchema),
  processes: z.array(processOverviewSchema),
  /** Processes that fell silent in the last day without signing off, as they were when they were heard of last. Absent when there are none. */
  lost: z.array(processOverviewSchema).optional(),
  upstreams: z.array(upstreamOverviewSchema),
  redis: redisOverviewSchema,
  /** Parts that could not be read now and are empty for that; absent when there are none. */
  missing: z.array(z.enum(['statistics', 'processes', 'queues'])).optional(),
});
export type Overview = z.output<typeof overviewSchema>;

/** What `GET /overview/history` goes back. */
export const historyQuerySchema = z.object({ span: z.enum(['day', 'week']).default('day') });

export const historySchema = z.object({
  object: z.literal('history'),
  at: moment,
  bucket_seconds: z.int().min(1),
  /** Oldest first, without gaps, to the present one, which still grows. */
  buckets: z.array(bucketSchema),
});
export type History = z.output<typeof historySchema>;

/** An event `overview` of `GET /overview/events`: everything anew, of the buckets only those that changed. */
export const overviewEventSchema = overviewSchema;
