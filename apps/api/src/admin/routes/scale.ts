import type { Settings } from '@sluice/config';
import { type Limits, queueName, type QueueBacklog, type ResponseQueues } from '@sluice/queue';
import type { FastifyInstance } from 'fastify';

export interface ScaleOptions {
  queue: Pick<ResponseQueues, 'backlog'>;
  settings: Pick<Settings, 'models' | 'workerConcurrency'>;
  /** The limit of each queue that is served, also of those that models have left. */
  queueLimits: () => Limits;
}

/** What an autoscaler is told of a model, or of the model that needs most. */
export interface Scale {
  /** Workers that would leave nothing waiting for a slot, were there no more to come. */
  needed_workers: number;
  waiting: number;
  active: number;
  /** The wait of the response that is next, in seconds; 0 when none waits. */
  oldest_waiting_seconds: number;
}

/** As many as `workerConcurrency` allows. */
const mostSlots = 10_000;

/**
 * `GET /scale`: how many workers there should be, as JSON with plain numbers, for KEDA's `metrics-api` and the like.
 *
 * `?model=` asks for one model, for a pool of workers of its own. Without it the numbers add up, and `needed_workers` is
 * that of the model that needs most, because each worker has slots for each model. Models that share a queue share its
 * numbers. A model's own limit bounds what more workers could do. What waits in a paused queue needs none.
 *
 * It says nothing of what any worker does besides: sending webhooks, and ending what is overdue. So whoever asks keeps one worker at least.
 *
 * `?slots=` says how many requests for a model one worker runs at a time, for a pool whose workers have another
 * `workerConcurrency` than this api.
 */
export function registerScale(app: FastifyInstance, { queue, settings, queueLimits }: ScaleOptions): void {
  app.get<{ Querystring: { model?: unknown; slots?: unknown } }>('/scale', async (request, reply) => {
    const { models, workerConcurrency } = settings;
    const { model, slots: given = workerConcurrency } = request.query;
    const asked = models.filter(({ id }) => id === model);
    if (model !== undefined && asked.length === 0) {
      return reply.code(404).send({ error: "'model' is not the id of a model in the settings" });
    }
    const slots = Number(given);
    if (!Number.isInteger(slots) || slots < 1 || slots > mostSlots) {
      return reply.code(400).send({ error: `'slots' must be a whole number from 1 to ${mostSlots}` });
    }
    const limits =
      model === undefined
        ? queueLimits()
        : new Map(asked.map(({ queue: name, concurrency }) => [queueName(name), concurrency]));
    const scales = await Promise.all(
      [...limits].map(async ([name, limit]) => scaleOf(await queue.backlog(name), { limit, slots })),
    );
    return reply.send(inAll(scales));
  });
}

function scaleOf(
  { waiting, active, isPaused, oldestWaitMs = 0 }: QueueBacklog,
  { limit = Number.POSITIVE_INFINITY, slots }: { limit: number | undefined; slots: number },
): Scale {
  const wanted = active + (isPaused ? 0 : waiting);
  return {
    needed_workers: Math.ceil(Math.min(wanted, limit) / slots),
    waiting,
    active,
    oldest_waiting_seconds: oldestWaitMs / 1000,
  };
}

function inAll(scales: readonly Scale[]): Scale {
  const of = (member: keyof Scale) => scales.map((scale) => scale[member]);
  const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
  return {
    needed_workers: Math.max(0, ...of('needed_workers')),
    waiting: sum(of('waiting')),
    active: sum(of('active')),
    oldest_waiting_seconds: Math.max(0, ...of('oldest_waiting_seconds')),
  };
}
