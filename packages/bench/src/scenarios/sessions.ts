import { cpuBetween, type CpuTimes, readCpuTimes } from '../cpu-times.ts';
import { onService } from '../on-service.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService } from '../service.ts';
import { median, spread, sum } from '../statistics.ts';
import { cpuCells, figure, spreadFigure } from '../table.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const model = { tokens: 20, intervalMs: 0 };
const slots = 64;
const workers = 2;
const roles = ['api', 'workers', 'redis'];

const plans = {
  full: { rounds: 4, sessions: 16, turns: 50 },
  quick: { rounds: 2, sessions: 4, turns: 10 },
};

/** Turns are measured in so many blocks, each of which all sessions end before the next one begins. */
const blocks = 5;

/** The result of a tool, as an agent sends it in almost every turn. */
const line = 'packages/queue/src/queue-consumer.ts:120: const taken = await this.#take(queue);\n';
const outputOf = (turn: number) => `${turn}\n${line.repeat(35)}`;

const tools = ['read_file', 'write_file', 'list_files', 'run_command', 'search'].map((name) => ({
  type: 'function',
  name,
  description: `Does what its name says, in the folder of the session. ${'It reports what it did. '.repeat(8)}`,
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, text: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  },
  strict: false,
}));

interface Block {
  latencyMs: number[];
  cpuMs: CpuTimes;
}

/** Agents: each turn continues the last one, brings the output of a tool, and is streamed. */
export const sessions: Scenario = {
  name: 'sessions',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { redis, quick, progress } = context;
    const plan = quick ? plans.quick : plans.full;
    return onService(context, { models: [model], concurrency: slots }, async (service) => {
      const started = await Promise.all(Array.from({ length: workers }, () => service.startWorker()));
      const processes = new Map([
        ['api', service.api],
        ...started.map((worker, at) => [`worker ${at}`, worker] as const),
      ]);
      const results: Block[][] = [];
      // The first round is the warm-up.
      for (let round = 0; round <= plan.rounds; round += 1) {
        progress.say(round === 0 ? 'sessions: warming up' : `sessions: round ${round} of ${plan.rounds}`);
        const last: (string | undefined)[] = Array.from({ length: plan.sessions });
        const found: Block[] = [];
        for (let block = 0; block < blocks; block += 1) {
          await redis.speed.run();
          const before = await readCpuTimes(processes, redis);
          const latencyMs = await runBlock(service, last, { block, turns: plan.turns / blocks });
          found.push({
            latencyMs,
            cpuMs: together(cpuBetween(before, await readCpuTimes(processes, redis))),
          });
        }
        if (round > 0) results.push(found);
      }
      return report(results, plan);
    });
  },
};

/** Some turns of every session, all sessions at once. Returns how long each took, in milliseconds. */
async function runBlock(
  service: BenchService,
  last: (string | undefined)[],
  { block, turns }: { block: number; turns: number },
): Promise<number[]> {
  const tookMs: number[] = [];
  await Promise.all(
    last.map(async (_, session) => {
      for (let turn = 0; turn < turns; turn += 1) {
        const begunAt = performance.now();
        last[session] = await goOn(service, last[session], outputOf(block * turns + turn));
        tookMs.push(performance.now() - begunAt);
      }
    }),
  );
  return tookMs;
}

/** Streams a turn to its end, and returns its id. */
async function goOn(service: BenchService, previous: string | undefined, input: string): Promise<string> {
  const links = previous === undefined ? {} : { previous_response_id: previous };
  const answer = await fetch(`${service.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ model: modelName(model), input, tools, stream: true, ...links }),
  });
  const text = await answer.text();
  const [, id] = /"id":"(create-response_\w+|resp_\w+)"/.exec(text) ?? [];
  if (id === undefined || !text.includes('event: response.completed'))
    throw new Error(`a turn did not complete: ${text.slice(-500)}`);
  return id;
}

/** The workers as one. */
function together(cpuMs: CpuTimes): CpuTimes {
  const ofWorkers = [...cpuMs].filter(([role]) => role.startsWith('worker '));
  return new Map([...cpuMs, ['workers', sum(ofWorkers.map(([, time]) => time ?? Number.NaN))]]);
}

function report(
  results: readonly Block[][],
  { sessions: count, turns }: { sessions: number; turns: number },
): ScenarioReport {
  const each = turns / blocks;
  const inputBytes = outputOf(0).length;
  return {
    title: 'Sessions of agents',
    description:
      `${count} sessions at once of ${turns} turns. Each turn continues the last one by \`previous_response_id\`, brings ${figure(inputBytes / 1_000)} KB and ` +
      `${tools.length} tools, and streams ${model.tokens} tokens; the upstream is sent the whole conversation each time. One api, ${workers} workers, and a round of ` +
      'warm-up. The ratio is that of the CPU of a turn to one of the first turns of the same round.',
    tables: [
      {
        title: 'CPU in µs a turn',
        columns: ['', 'context KB', 'p50 ms', ...roles.map((role) => `${role} CPU`), 'all CPU', 'ratio'],
        rows: Array.from({ length: blocks }, (_, block) => {
          const rounds = results.flatMap((round) => round[block] ?? []);
          const ratio = results.map((round) => ownCpu(round[block]) / ownCpu(round[0]));
          return [
            `turns ${block * each + 1} to ${(block + 1) * each}`,
            figure(((block * each + each / 2) * inputBytes) / 1_000),
            figure(median(rounds.flatMap(({ latencyMs }) => latencyMs))),
            ...cpuCells(rounds, roles, ({ latencyMs }) => latencyMs.length),
            spreadFigure(spread(ratio)),
          ];
        }),
      },
    ],
  };
}

function ownCpu(block: Block | undefined): number {
  return sum(roles.map((role) => block?.cpuMs.get(role) ?? Number.NaN));
}
