import type { Bucket, Overview, ProcessOverview, UpstreamOverview } from '@sluice/contract/admin';
import type { MockRoute } from './mock-route.ts';
import { presentQueues } from './queues.ts';
import { randomFrom } from './random.ts';

const bucketSeconds = 10;
const bucketMs = bucketSeconds * 1000;

/** One bucket, always the same for the same moment: a tide, a burst of failures some minutes ago, and noise. */
const noTimes = { wait_p50_ms: null, wait_p99_ms: null, run_p50_ms: null, run_p99_ms: null };

function bucketAt(at: number, elapsed = 1): Bucket {
  const random = randomFrom(at / bucketMs);
  const age = (Date.now() - at) / 60_000;
  const tide = 1 + 0.5 * Math.sin(at / 420_000) + 0.4 * random();
  const accepted = Math.round(46 * tide * elapsed);
  const failed = Math.round(accepted * (age > 18 && age < 24 ? 0.32 : 0.035) * (0.5 + random()));
  const cancelled = Math.round(accepted * 0.03 * random());
  const incomplete = Math.round(accepted * 0.05 * random());
  const completed = Math.max(0, accepted - failed - cancelled - incomplete);
  const slow = age > 18 && age < 26 ? 3.2 : 1;
  return {
    at,
    accepted,
    completed,
    incomplete,
    failed,
    cancelled,
    refused: Math.round((age > 19 && age < 23 ? 12 : 0.5) * random() * elapsed),
    input_tokens: Math.round(accepted * 900 * (0.8 + random() * 0.4)),
    output_tokens: Math.round(completed * 310 * (0.8 + random() * 0.4)),
    first_token_p50_ms: Math.round(340 * slow * (0.85 + random() * 0.3)),
    first_token_p99_ms: Math.round(1_900 * slow * (0.7 + random() * 0.6)),
    wait_p50_ms: Math.round(120 * slow * (0.8 + random() * 0.4)),
    wait_p99_ms: Math.round(900 * slow * (0.7 + random() * 0.6)),
    run_p50_ms: Math.round(2_400 * slow * (0.85 + random() * 0.3)),
    run_p99_ms: Math.round(9_500 * slow * (0.7 + random() * 0.6)),
  };
}

function presentBuckets(count: number): Bucket[] {
  const present = Math.floor(Date.now() / bucketMs) * bucketMs;
  return Array.from({ length: count }, (_, back) => {
    const at = present - (count - 1 - back) * bucketMs;
    return bucketAt(at, at === present ? (Date.now() - present) / bucketMs : 1);
  });
}

function sumOf(buckets: readonly Bucket[], share = 1): Overview['hour'] {
  const sum = (key: Exclude<keyof Bucket, 'at' | `${string}_ms`>) =>
    Math.round(buckets.reduce((total, bucket) => total + bucket[key], 0) * share);
  return {
    accepted: sum('accepted'),
    completed: sum('completed'),
    incomplete: sum('incomplete'),
    failed: sum('failed'),
    cancelled: sum('cancelled'),
    refused: sum('refused'),
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    first_token_p50_ms: Math.round(280 + share * 260),
    first_token_p99_ms: Math.round(1_700 + share * 1_400),
    ...noTimes,
  };
}

function presentProcesses(): ProcessOverview[] {
  const now = Date.now();
  const base = { host: 'sluice-a7f4', version: '0.1.0', started_at: now - 5 * 3_600_000, seen_at: now - 800 };
  const queues = presentQueues();
  const worker = (at: number, look: Partial<ProcessOverview>): ProcessOverview => {
    const slots = queues
      .filter(({ slots: all }) => all !== 0)
      .map(({ queue, slots: all, active }) => {
        const mine = Math.ceil((all ?? 0) / 2);
        return {
          queue,
          slots: mine,
          running: Math.min(mine, at % 2 === 0 ? Math.ceil(active / 2) : Math.floor(active / 2)),
        };
      });
    const running = slots.reduce((sum, each) => sum + each.running, 0);
    return {
      role: 'worker',
      id: `worker-${at}`,
      ...base,
      pid: 40 + at,
      stopping: false,
      running,
      slots,
      active_at: now - 400 * (at + 1),
      ...look,
    } as ProcessOverview; // The overrides keep the role.
  };
  return [
    { role: 'api', id: 'api-1', ...base, pid: 21, stopping: false, open_requests: 83, web_sockets: 4 },
    {
      role: 'api',
      id: 'api-2',
      ...base,
      pid: 22,
      stopping: false,
      open_requests: 71,
      web_sockets: 0,
      host: 'sluice-b913',
    },
    worker(0, {}),
    worker(1, { host: 'gpu-node-with-a-rather-long-name.rack-17.eu-central.example' }),
    worker(2, { host: 'gpu-3', stopping: true }),
    worker(3, { host: 'gpu-4', seen_at: now - 26_000 }),
  ];
}

function presentUpstreams(): UpstreamOverview[] {
  const beat = Math.sin(Date.now() / 9_000);
  return [
    {
      provider: 'vllm-a',
      breaker: 'closed',
      workers_open: 0,
      workers: 4,
      metrics_fault: null,
      models: [upstreamModel('qwen3-8b', { in_flight: Math.round(9 + 3 * beat), limit: 12 })],
    },
    {
      provider: 'openrouter',
      breaker: 'open',
      workers_open: 3,
      workers: 4,
      metrics_fault: null,
      models: [
        upstreamModel('gpt-oss-20b', { parked_ms: 14_200, waiting: 6, limit: 8, calls_per_second: 2.5 }),
        upstreamModel('mistral-small-3.2-24b-instruct-2506', { in_flight: 2, calls_per_second: 0.4 }),
      ],
    },
    {
      provider: 'llama-cpp',
      breaker: 'half_open',
      workers_open: 1,
      workers: 4,
      metrics_fault: 'The metrics of the upstream could not be read: connect ECONNREFUSED',
      models: [upstreamModel('qwen3-vl-30b', { in_flight: 1, limit: 1 })],
    },
  ];
}

type UpstreamModel = UpstreamOverview['models'][number];

function upstreamModel(model: string, look: Partial<UpstreamModel>): UpstreamModel {
  return { model, parked_ms: 0, in_flight: 0, limit: null, calls_per_second: null, waiting: 0, ...look };
}

function overview(buckets: Bucket[]): Overview {
  const hour = sumOf(presentBuckets(360));
  const beat = Math.sin(Date.now() / 12_000);
  return {
    object: 'overview',
    at: Date.now(),
    bucket_seconds: bucketSeconds,
    buckets,
    hour,
    errors: [
      { value: 'upstream_timeout', count: Math.round(hour.failed * 0.58) },
      { value: 'upstream_unavailable', count: Math.round(hour.failed * 0.24) },
      { value: 'context_length_exceeded', count: Math.round(hour.failed * 0.12) },
      { value: 'invalid_tool_arguments_after_all_attempts', count: Math.round(hour.failed * 0.05) },
      { value: 'server_error', count: 1 },
    ],
    models: [
      { model: 'qwen3-8b', ...sumOf(presentBuckets(360), 0.61) },
      { model: 'gpt-oss-20b', ...sumOf(presentBuckets(360), 0.27) },
      { model: 'mistral-small-3.2-24b-instruct-2506', ...sumOf(presentBuckets(360), 0.09) },
      {
        model: 'bge-m3',
        ...sumOf(presentBuckets(360), 0.03),
        first_token_p50_ms: null,
        first_token_p99_ms: null,
        ...noTimes,
      },
    ],
    tenants: ['acme-production', '東京データ研究所', 'бюро-переводов', 'night-batch', 'playground'].map(
      (tenant, at) => {
        const { accepted, failed, refused, input_tokens, output_tokens } = sumOf(
          presentBuckets(360),
          0.42 / (at + 1),
        );
        return { tenant, accepted, failed, refused: at === 3 ? refused : 0, input_tokens, output_tokens };
      },
    ),
    queues: presentQueues(),
    processes: presentProcesses(),
    lost: presentProcesses()
      .slice(-1)
      .map((each) => ({ ...each, id: 'lost-1', pid: 71, seen_at: Date.now() - 260_000 })),
    upstreams: presentUpstreams(),
    redis: {
      used_bytes: Math.round(3.32e9 + 4e7 * beat),
      limit_bytes: 4_294_967_296,
      used_percent: 77.4 + 0.9 * beat,
      refuses_at_percent: 90,
      version: '8.4.0',
      is_persistent: true,
    },
  };
}

export const overviewRoutes: readonly MockRoute[] = [
  { method: 'GET', path: '/overview', answer: () => overview(presentBuckets(360)) },
  {
    method: 'GET',
    path: '/overview/events',
    answer: () => undefined,
    live: (_request, send) => {
      send('overview', overview(presentBuckets(360)));
      const timer = setInterval(() => send('overview', overview(presentBuckets(2))), 1_000);
      return () => clearInterval(timer);
    },
  },
];
