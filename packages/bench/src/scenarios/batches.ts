import { setTimeout as pause } from 'node:timers/promises';
import type { BenchRedis } from '../bench-redis.ts';
import { atMost, goalTable } from '../goals.ts';
import type { LoadResult } from '../load/order.ts';
import { runLoad } from '../measure.ts';
import { onService } from '../on-service.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import type { BenchService } from '../service.ts';
import { median, spread } from '../statistics.ts';
import { figure, spreadFigure } from '../table.ts';
import { streamTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';
import { type BatchOfLines, endedBatch, type EndedBatch, startBatch, usedTokens } from './batch-of-lines.ts';

/** A model that reads a prompt for 0.3 s and answers for 0.2. */
const model = { tokens: 5, intervalMs: 50, firstMs: 300 };
const answerMs = model.firstMs + (model.tokens - 1) * model.intervalMs;
const slots = 96;
const callers = 8;

const plans = {
  full: { lines: 50_000, windowMs: 30_000, aloneWindows: 2 },
  quick: { lines: 500, windowMs: 3_000, aloneWindows: 1 },
};

/** How much longer the first token of a stream may take beside a batch. */
const mostSlower = 1.05;

/** Redis may hold as much as for so many waiting responses, of some 2,500 bytes each. */
const mostBytes = 5_000 * 2_500;

/** Within this long everything that has ended is summed up. */
const usageMs = 5_000;

/** Streams that somebody reads, beside a batch of one model. */
export const batches: Scenario = {
  name: 'batches',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const plan = context.quick ? plans.quick : plans.full;
    const settings = { files: { enabled: true }, usage: { enabled: true } };
    return onService(context, { models: [model], concurrency: slots, settings }, async (service) => {
      await service.startWorker();
      return measureBatch(context, service, plan);
    });
  },
};

interface Beside {
  alone: LoadResult[];
  beside: LoadResult[];
  /** Most bytes that Redis had more than before, without those of the streams and of the journal. */
  bytes: number;
  /** Bytes that the journal of the console took meanwhile. It has a bound of its own. */
  journal: number;
  ended: EndedBatch;
  elapsedMs: number;
  tokens: number;
}

async function measureBatch(
  { load, redis, progress }: ScenarioContext,
  service: BenchService,
  { lines, windowMs, aloneWindows }: (typeof plans)['full'],
): Promise<ScenarioReport> {
  const window = () =>
    runLoad(load, {
      target: streamTarget(service, model),
      concurrency: callers,
      staggerMs: answerMs,
      durationMs: windowMs,
    });
  progress.say('batches: warming up');
  await window();
  const alone: LoadResult[] = [];
  const readAlone = async () => {
    for (let at = 0; at < aloneWindows; at += 1) {
      progress.say(`batches: streams alone, ${at + 1} of ${aloneWindows}`);
      alone.push(await window());
    }
  };
  const unused = await redis.usedMemoryBytes();
  await readAlone();
  // The store keeps the streams as well.
  const bytesOfStream = ((await redis.usedMemoryBytes()) - unused) / completedIn(alone);
  const before = await redis.usedMemoryBytes();
  await pause(usageMs);
  const usedBefore = await usedTokens(service);
  const journalBefore = await bytesOfJournal(redis, service);
  progress.say(`batches: uploading ${lines} lines`);
  const batch = await startBatch(service, { lines, model: modelName(model) });
  const startedAt = performance.now();
  const beside: LoadResult[] = [];
  let bytes = 0;
  for (let over = await isOver(batch); !over; over = await isOver(batch)) {
    progress.say(`batches: streams beside ${await batch.completed()} of ${lines} lines`);
    beside.push(await window());
    const ofStreams = completedIn(beside) * bytesOfStream;
    bytes = Math.max(bytes, (await redis.usedMemoryBytes()) - before - ofStreams);
  }
  const elapsedMs = performance.now() - startedAt;
  const journalBytes = await bytesOfJournal(redis, service);
  const ended = await endedBatch(batch);
  await readAlone();
  const streams = [...beside, ...alone.slice(aloneWindows)].reduce((sum, { marks }) => sum + marks, 0);
  await pause(usageMs);
  const tokens = (await usedTokens(service)) - usedBefore - streams;
  const journal = journalBytes - journalBefore;
  return report({ alone, beside, bytes: bytes - journal, journal, ended, elapsedMs, tokens }, lines);
}

async function bytesOfJournal(redis: BenchRedis, { keyPrefix }: BenchService): Promise<number> {
  const families = await redis.keyFamilies(keyPrefix, (key) =>
    key.endsWith(':journal') ? 'journal' : 'other',
  );
  return families.find(({ name }) => name === 'journal')?.bytes ?? 0;
}

function completedIn(results: readonly LoadResult[]): number {
  return results.reduce((sum, { completed }) => sum + completed, 0);
}

async function isOver(batch: BatchOfLines): Promise<boolean> {
  return (await batch.status()) === 'completed';
}

function report(
  { alone, beside, bytes, journal, ended, elapsedMs, tokens }: Beside,
  lines: number,
): ScenarioReport {
  const firstToken = (results: readonly LoadResult[], name: 'p50' | 'p99') =>
    results.map(({ firstMarkMs }) => firstMarkMs[name]);
  const slower = (name: 'p50' | 'p99') =>
    firstToken(beside, name).map((each) => each / median(firstToken(alone, name)));
  const number = (value: number) => value.toLocaleString('en-US');
  const row = (name: string, results: readonly LoadResult[]) => [
    name,
    String(results.length),
    spreadFigure(spread(firstToken(results, 'p50'))),
    spreadFigure(spread(firstToken(results, 'p99'))),
    spreadFigure(spread(results.map((each) => (each.completed * 1_000) / each.elapsedMs))),
  ];
  return {
    title: 'Streams beside a batch',
    description:
      `${callers} callers of streams whose first token takes a model ${model.firstMs} ms and the whole ${answerMs} ms, alone and beside a batch of ${number(lines)} lines for the same model, ` +
      `on one api and one worker with ${slots} slots. Usage is counted.`,
    tables: [
      goalTable([
        {
          what: 'first token of a stream beside the batch to alone, p50',
          goal: `at most ${mostSlower}`,
          rounds: slower('p50'),
          isMet: atMost(mostSlower),
        },
        {
          what: 'the same, p99',
          goal: `at most ${mostSlower}`,
          rounds: slower('p99'),
          isMet: atMost(mostSlower),
        },
        {
          what: 'bytes of Redis for the batch, without the journal of the console',
          goal: `at most ${number(mostBytes)}, as for 5,000 waiting responses`,
          rounds: [bytes],
          isMet: atMost(mostBytes),
        },
        {
          what: 'lines without an answer of their own',
          goal: 'none',
          rounds: [lines - ended.distinct + (ended.lines - ended.distinct)],
          isMet: atMost(0),
        },
        {
          what: 'output tokens by the answers, less those by usage',
          goal: 'none',
          rounds: [Math.abs(ended.outputTokens - tokens)],
          isMet: atMost(0),
        },
      ]),
      {
        title: 'Streams',
        columns: ['', 'windows', 'first token p50 ms', 'first token p99 ms', 'streams/s'],
        rows: [row('alone', alone), row('beside the batch', beside)],
      },
      {
        title: 'The batch',
        columns: ['lines', 'seconds', 'lines/s', 'bytes of the journal of the console'],
        rows: [
          [number(lines), figure(elapsedMs / 1_000), figure((lines * 1_000) / elapsedMs), number(journal)],
        ],
      },
    ],
  };
}
