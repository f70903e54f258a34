import type { Act, QueueOverview } from '@sluice/contract/admin';
import type { MockRoute } from './mock-route.ts';

/** The queues of the fake service. Those that are paused grow; the others move about. */
const queues: (QueueOverview & { base: number })[] = [
  queue('qwen3-8b', { models: ['qwen3-8b', 'qwen3-8b-fast'], base: 14, slots: 16, concurrency: 12 }),
  queue('gpt-oss-20b', { models: ['gpt-oss-20b'], base: 214, slots: 8, oldest: 96_000 }),
  queue('mistral-small-3.2-24b-instruct-2506', {
    models: ['mistral-small-3.2-24b-instruct-2506'],
    base: 0,
    slots: 4,
  }),
  queue('embeddings', { models: ['bge-m3'], base: 31, slots: 4, paused: true, oldest: 1_260_000 }),
  queue('vision', { models: ['qwen3-vl-30b'], base: 3, slots: 0, oldest: 412_000 }),
];

interface Look {
  models: string[];
  base: number;
  slots: number;
  concurrency?: number;
  paused?: boolean;
  oldest?: number;
}

function queue(name: string, look: Look): QueueOverview & { base: number } {
  const { models, base, slots, concurrency = null, paused = false, oldest } = look;
  return {
    queue: name,
    models,
    paused,
    waiting: base,
    active: paused ? 0 : Math.min(slots, concurrency ?? slots, base + 2),
    oldest_wait_ms: base === 0 ? null : (oldest ?? 2_400),
    concurrency,
    slots,
    base,
  };
}

/** The queues as they are now. */
export function presentQueues(): QueueOverview[] {
  const beat = Date.now() / 1000;
  return queues.map(({ base, ...each }, at) => {
    const swing = each.paused || each.slots === 0 ? 0 : Math.round(Math.sin(beat / 7 + at) * base * 0.2);
    const waiting = Math.max(0, each.waiting + swing);
    return { ...each, waiting, oldest_wait_ms: waiting === 0 ? null : (each.oldest_wait_ms ?? 1_200) };
  });
}

const drains: (Act & { queue: string })[] = [];

/** A drain moves each time it is asked about. */
function step(act: Act & { queue: string }): Act {
  if (act.state === 'running') {
    const left = act.total - act.done - act.skipped;
    const taken = Math.min(left, Math.max(3, Math.round(act.total / 12)));
    act.done += taken;
    if (act.done + act.skipped >= act.total) Object.assign(act, { state: 'done', ended_at: Date.now() });
    const drained = queues.find((each) => each.queue === act.queue);
    if (drained) drained.waiting = Math.max(0, drained.waiting - taken);
  }
  const { queue: _queue, ...shown } = act;
  return shown;
}

function switchQueue(name: string | undefined, paused: boolean): unknown {
  const found = queues.find((each) => each.queue === name);
  if (!found) return undefined;
  found.paused = paused;
  found.active = paused ? 0 : Math.min(found.slots ?? 0, found.concurrency ?? found.slots ?? 0);
  return { object: 'queue', queue: found.queue, paused };
}

export const queueRoutes: readonly MockRoute[] = [
  { method: 'GET', path: '/queues', answer: () => ({ object: 'list', data: presentQueues() }) },
  {
    method: 'POST',
    path: '/queues/:queue/pause',
    acts: true,
    answer: ({ params }) => switchQueue(params['queue'], true),
  },
  {
    method: 'POST',
    path: '/queues/:queue/resume',
    acts: true,
    answer: ({ params }) => switchQueue(params['queue'], false),
  },
  {
    method: 'POST',
    path: '/queues/:queue/drain',
    acts: true,
    answer: ({ params }) => {
      const found = queues.find((each) => each.queue === params['queue']);
      if (!found) return undefined;
      const act: Act & { queue: string } = {
        id: `act_drain_${drains.length + 1}`,
        object: 'act',
        action: 'drain',
        target: found.queue,
        queue: found.queue,
        state: 'running',
        total: found.waiting,
        done: 0,
        skipped: 0,
        failed: 0,
        error: null,
        started_at: Date.now(),
        ended_at: null,
      };
      drains.push(act);
      return step(act);
    },
  },
  {
    method: 'GET',
    path: '/acts/:id',
    answer: ({ params }) => {
      const act = drains.find(({ id }) => id === params['id']);
      return act === undefined ? undefined : step(act);
    },
  },
  {
    method: 'POST',
    path: '/acts/:id/stop',
    acts: true,
    answer: ({ params }) => {
      const act = drains.find(({ id }) => id === params['id']);
      if (act?.state === 'running') Object.assign(act, { state: 'stopped', ended_at: Date.now() });
      return act === undefined ? undefined : step(act);
    },
  },
];
