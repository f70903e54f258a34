import { atMost, goalTable } from '../goals.ts';
import { measure, type Measurement, runLoad } from '../measure.ts';
import { alternate, ratios } from '../rounds.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { startService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { cpuCells, figure, spreadFigure } from '../table.ts';
import { streamTarget, turnTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const roles = ['load', 'api', 'worker', 'redis', 'upstream'];
const callers = 16;
const model = { tokens: 200, intervalMs: 0 };

const plans = {
  full: { rounds: 9, roundMs: 3_000 },
  quick: { rounds: 2, roundMs: 400 },
} as const;

/** The same streams as server-sent events and as turns of WebSockets. */
export const socketTurns: Scenario = {
  name: 'websocket',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { load, redis, upstream, progress } = context;
    const { rounds, roundMs } = context.quick ? plans.quick : plans.full;
    const service = await startService({
      ...context,
      redisUrl: redis.url,
      models: [modelName(model)],
      concurrency: callers,
    });
    try {
      const worker = await service.startWorker();
      const processes = new Map([
        ['api', service.api] as const,
        ['worker', worker] as const,
        ['upstream', upstream] as const,
      ]);
      const run = (name: string, target: ReturnType<typeof turnTarget>) => {
        const order = { target, concurrency: callers, durationMs: roundMs };
        let isWarm = false;
        return async () => {
          progress.say(`websocket: ${name}`);
          if (!isWarm) await runLoad(load, { ...order, durationMs: roundMs / 2 });
          isWarm = true;
          return measure(order, { load, redis, processes });
        };
      };
      const results = await alternate(
        new Map([
          ['server-sent events', run('server-sent events', streamTarget(service, model))],
          ['WebSocket', run('WebSocket', turnTarget(service, model))],
        ]),
        rounds,
      );
      const [events = [], turns = []] = results.values();
      return {
        title: 'Turns of WebSockets',
        description:
          `${callers} callers who ask for a stream of ${model.tokens} tokens, one after the other: each as a request whose ` +
          'answer is server-sent events, over a connection that is kept, and each as a turn of a WebSocket that is kept. One api and one worker.',
        tables: [
          goalTable([
            {
              what: 'CPU of the api for a token of a turn, against a token of a stream',
              goal: 'at most 1',
              rounds: ratios(turns, events, apiCpu),
              isMet: atMost(1),
            },
          ]),
          {
            title: 'CPU in µs a token',
            columns: ['', 'tokens/s', 'first token p50 ms', ...roles.map((role) => `${role} CPU`), 'all CPU'],
            rows: [...results].map(([name, each]) => [
              name,
              spreadFigure(spread(each.map(rate))),
              figure(median(each.map(({ firstMarkMs }) => firstMarkMs.p50))),
              ...cpuCells(each, roles, ({ marks }) => marks),
            ]),
          },
        ],
      };
    } finally {
      await service.stop();
      await redis.clear(service.keyPrefix);
    }
  },
};

function rate({ marks, elapsedMs }: Measurement): number {
  return (marks * 1000) / elapsedMs;
}

function apiCpu({ cpuMs, marks }: Measurement): number {
  return (cpuMs.get('api') ?? Number.NaN) / marks;
}
