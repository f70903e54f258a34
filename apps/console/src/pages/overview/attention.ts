import type { Overview, ProcessOverview } from '@sluice/contract/admin';
import type { UrlSearch } from '../../components/use-filters.ts';
import { countOf, formatCount, formatShare } from '../../format/numbers.ts';
import { formatDuration } from '../../format/times.ts';
import { errorRate, recentOf, refusalRate } from './figures.ts';

/** Something that an operator should look at. */
export interface Problem {
  /** The same for the same problem, however its figures change. */
  key: string;
  /** `bad`: callers feel it. `warn`: they may soon. */
  tone: 'bad' | 'warn';
  text: string;
  look: {
    word: string;
    to: '/' | '/cells' | '/queues' | '/responses' | '/tenants';
    search?: UrlSearch;
    hash?: string;
  };
}

/** A longer wait is worth a look, and callers feel a much longer one, in milliseconds. */
const longWaitMs = 60_000;
const tooLongWaitMs = 300_000;
/** Shares of the last five minutes that are worth a look, and that are bad. */
const highRates = { warn: 0.05, bad: 0.2 };
/** Fewer than these say nothing about a rate. */
const leastEnded = 20;
const recentMs = 300_000;
/** A process says that it is there every few seconds. */
const silentAfterMs = 15_000;
/** A process that was lost is worth a look for so long; the list has it for a day. */
const lostMattersMs = 3_600_000;
/** A shorter parking is everyday pressure. */
const longParkingMs = 5_000;
/** Points below the mark at which Redis refuses work. */
const nearRedisLimit = 10;

/**
 * Whether the statistics are there: the service may keep none, and they may be out of reach. Without them nobody knows which
 * processes there are.
 */
export function hasStatistics({ missing = [] }: Pick<Overview, 'missing'>): boolean {
  return !missing.includes('statistics') && !missing.includes('processes');
}

export function isSilent({ seen_at }: Pick<ProcessOverview, 'seen_at'>, at: number): boolean {
  return at - seen_at > silentAfterMs;
}

/** The present problems, the worst first; none when all is well. That the overview cannot be renewed is one, as it may hide others. */
export function problemsOf(overview: Overview, { isStale = false } = {}): Problem[] {
  const found = [
    ...(isStale ? [staleProblem] : []),
    ...cellProblems(overview),
    ...redisProblems(overview),
    ...(hasStatistics(overview) ? workerProblems(overview) : []),
    ...lostProblems(overview),
    ...upstreamProblems(overview),
    ...rateProblems(overview),
    ...queueProblems(overview),
  ];
  return [...found.filter(({ tone }) => tone === 'bad'), ...found.filter(({ tone }) => tone === 'warn')];
}

const lookAtRedis: Problem['look'] = { word: 'See Redis', to: '/', hash: 'redis' };

const staleProblem: Problem = {
  key: 'stale',
  tone: 'bad',
  text: 'The state of the service cannot be read at the moment, so what is shown may be out of date.',
  look: lookAtRedis,
};

function cellProblems({ redis: { cells_away: away = [] } }: Overview): Problem[] {
  if (away.length === 0) return [];
  const cells = away.length === 1 ? `cell ${away[0]}` : `cells ${away.join(', ')}`;
  const text = `Redis does not answer in ${cells}, so tenants there are refused.`;
  return [{ key: 'cells', tone: 'bad', text, look: { word: 'See the cells', to: '/cells' } }];
}

function redisProblems({ redis }: Overview): Problem[] {
  const { used_percent: used, refuses_at_percent: mark } = redis;
  if (used === null || used < mark - nearRedisLimit) return [];
  const share = formatShare(used / 100);
  const text =
    used >= mark
      ? `Redis has used ${share} of its memory, so new work is refused.`
      : `Redis has used ${share} of its memory. New work is refused past ${formatShare(mark / 100)}.`;
  return [{ key: 'redis', tone: used >= mark ? 'bad' : 'warn', text, look: lookAtRedis }];
}

function workerProblems({ at, processes }: Overview): Problem[] {
  const look: Problem['look'] = { word: 'See the workers', to: '/', hash: 'workers' };
  const workers = processes.filter(({ role }) => role === 'worker');
  if (workers.length === 0) {
    return [
      { key: 'no-worker', tone: 'bad', text: 'No worker runs, so nothing that waits can start.', look },
    ];
  }
  return workers
    .filter((worker) => isSilent(worker, at))
    .map(({ id, host, pid, seen_at }) => ({
      key: `silent:${id}`,
      tone: 'warn',
      text: `The worker on ${host} (process ${pid}) has been silent for ${roundedDuration(at - seen_at)}.`,
      look,
    }));
}

function lostProblems({ at, lost = [] }: Overview): Problem[] {
  const look: Problem['look'] = { word: 'See the processes', to: '/', hash: 'workers' };
  const recent = lost
    .filter(({ seen_at }) => at - seen_at < lostMattersMs)
    .toSorted((one, other) => other.seen_at - one.seen_at);
  const [latest] = recent;
  if (!latest) return [];
  const since = `${roundedDuration(at - latest.seen_at)} ago`;
  const which = `${latest.host} (process ${latest.pid})`;
  const text =
    recent.length === 1
      ? `The ${latest.role} on ${which} was lost ${since}, without signing off${heldBy(latest)}.`
      : `${formatCount(recent.length)} processes were lost in the last hour, the latest ${since}: the ${latest.role} on ${which}${heldBy(latest)}.`;
  return [{ key: 'lost', tone: 'warn', text, look }];
}

/** The work that a process had when it was heard of last. */
function heldBy(process: ProcessOverview): string {
  if (process.role === 'api') {
    return process.open_requests === 0 ? '' : `, with ${countOf(process.open_requests, 'open request')}`;
  }
  return process.running === 0 ? '' : `, with ${countOf(process.running, 'response')} running`;
}

function upstreamProblems({ upstreams }: Overview): Problem[] {
  const look: Problem['look'] = { word: 'See the upstreams', to: '/', hash: 'upstreams' };
  return upstreams.flatMap(
    ({ provider: id, server, breaker, workers_open: open, workers, models }): Problem[] => {
      const provider = server === undefined ? id : `${id} at ${server}`;
      const of = `${formatCount(open)} of ${formatCount(workers)} workers`;
      if (breaker === 'open') {
        const text = `The upstream ${provider} is down: ${of} send it no calls.`;
        return [{ key: `breaker:${provider}`, tone: 'bad', text, look }];
      }
      if (breaker === 'half_open') {
        const text = `The upstream ${provider} was down and is being tried again by ${of}.`;
        return [{ key: `breaker:${provider}`, tone: 'warn', text, look }];
      }
      const parked = models.filter(({ parked_ms: ms }) => ms >= longParkingMs);
      if (parked.length === 0) return [];
      const names = parked.length === 1 ? parked[0]?.model : `${parked.length} of its models`;
      const longest = roundedDuration(Math.max(...parked.map(({ parked_ms: ms }) => ms)));
      const text = `The upstream ${provider} limits ${names}: no calls for up to ${longest}.`;
      return [{ key: `parked:${provider}`, tone: 'warn', text, look }];
    },
  );
}

function rateProblems(overview: Overview): Problem[] {
  const recent = recentOf(overview, recentMs);
  if (!recent) return [];
  const problems: Problem[] = [];
  const errors = errorRate(recent);
  const ended = recent.sum('failed') + recent.sum('completed') + recent.sum('incomplete');
  if (errors !== null && errors >= highRates.warn && ended >= leastEnded) {
    problems.push({
      key: 'errors',
      tone: errors >= highRates.bad ? 'bad' : 'warn',
      text: `${formatShare(errors)} of the responses of the last 5 minutes failed.`,
      look: { word: 'See the failed ones', to: '/responses', search: { status: ['failed'] } },
    });
  }
  const refusals = refusalRate(recent);
  const came = recent.sum('refused') + recent.sum('accepted');
  if (refusals !== null && refusals >= highRates.warn && came >= leastEnded) {
    problems.push({
      key: 'refusals',
      tone: refusals >= highRates.bad ? 'bad' : 'warn',
      text: `${formatShare(refusals)} of the requests of the last 5 minutes were refused.`,
      look: { word: 'See the limits of tenants', to: '/tenants' },
    });
  }
  return problems;
}

function queueProblems(overview: Overview): Problem[] {
  const hasWorker = overview.processes.some(({ role }) => role === 'worker');
  return overview.queues
    .filter(({ waiting }) => waiting > 0)
    .flatMap(({ queue, models, paused, waiting, slots, oldest_wait_ms: oldest }): Problem[] => {
      const key = `queue:${queue}`;
      const toQueue: Problem['look'] = { word: 'See the queue', to: '/queues', search: { q: [queue] } };
      const wait = oldest === null ? '' : `, the oldest for ${roundedDuration(oldest)}`;
      const count = `${formatCount(waiting)} ${waiting === 1 ? 'waits' : 'wait'}`;
      if (paused) {
        return [{ key, tone: 'warn', text: `The queue ${queue} is paused: ${count}${wait}.`, look: toQueue }];
      }
      if (hasStatistics(overview) && hasWorker && slots === 0) {
        const text = `No worker takes from the queue ${queue}: ${count}${wait}.`;
        return [{ key, tone: 'bad', text, look: toQueue }];
      }
      if (oldest === null || oldest < longWaitMs) return [];
      const text = `In the queue ${queue}, ${count}${wait}.`;
      const search = { status: ['queued'], model: models };
      // Without a model it would lead to what waits in all queues.
      const look: Problem['look'] =
        models.length === 0 ? toQueue : { word: 'See what waits', to: '/responses', search };
      return [{ key, tone: oldest >= tooLongWaitMs ? 'bad' : 'warn', text, look }];
    });
}

/** In whole seconds: the sentences change less often, and are read sooner. */
function roundedDuration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}
