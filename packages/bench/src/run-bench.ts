import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRedis } from './bench-redis.ts';
import { ownProcess, startChild, type Child } from './child-process.ts';
import { costTable, type MeasuredCost, notedCosts } from './guard.ts';
import { describeMachine } from './machine.ts';
import { renderPage, type TimedReport } from './page.ts';
import type { Progress } from '@sluice/testing';
import type { Scenario } from './scenario.ts';
import { backlog } from './scenarios/backlog.ts';
import { batches } from './scenarios/batches.ts';
import { cells } from './scenarios/cells.ts';
import { chat } from './scenarios/chat.ts';
import { carriedStreams } from './scenarios/carried-streams.ts';
import { contexts } from './scenarios/contexts.ts';
import { durablePeers } from './scenarios/durable-peers.ts';
import { footprint } from './scenarios/footprint.ts';
import { formerBuild } from './scenarios/former-build.ts';
import { gateways } from './scenarios/gateways.ts';
import { largeInputs } from './scenarios/large-inputs.ts';
import { longBacklog } from './scenarios/long-backlog.ts';
import { openStreams } from './scenarios/open-streams.ts';
import { sessions } from './scenarios/sessions.ts';
import { storeys } from './scenarios/storeys.ts';
import { streams } from './scenarios/streams.ts';
import { synchronousRequests } from './scenarios/synchronous-requests.ts';

/** In the order of the page. */
const scenarios: readonly Scenario[] = [synchronousRequests, streams, footprint, backlog];

/** Those that run only when they are asked for. */
const onDemand: readonly Scenario[] = [
  storeys,
  formerBuild,
  chat,
  sessions,
  contexts,
  largeInputs,
  openStreams,
  carriedStreams,
  longBacklog,
  cells,
  batches,
  gateways,
  durablePeers,
];

/** All of them, in the order of the page. */
export const scenarioNames: readonly string[] = [...scenarios, ...onDemand].map(({ name }) => name);

export interface RunOptions {
  quick: boolean;
  /** Names of the scenarios to run. Empty: all of them, but for those that have to be asked for. */
  scenarios: readonly string[];
  /** Names of what to compare with: gateways, and durable peers. Empty: all that are known. */
  rivals: readonly string[];
  /** The root of another build, which the scenario `former-build` measures. */
  against: string | undefined;
  profile: string | undefined;
  /** The Redis to use. Undefined: a server is started. */
  redisUrl: string | undefined;
  progress: Progress;
}

export interface BenchResult {
  /** In Markdown. */
  page: string;
  costs: MeasuredCost[];
}

/** Runs scenarios against the built apps. Every process that it started has ended when it resolves. */
export async function runBench(options: RunOptions): Promise<BenchResult> {
  const chosen = choose(options.scenarios);
  const startedAt = performance.now();
  const date = new Date();
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const redis = await openRedis(options.redisUrl);
  const children: Child[] = [];
  try {
    const upstream = await startChild({ name: 'upstream', ...ownProcess('./upstream/no-op-upstream') });
    children.push(upstream);
    const load = await startChild({ name: 'load generator', ...ownProcess('./load/load-generator') });
    children.push(load);
    const context = {
      ...options,
      redis,
      upstream,
      upstreamUrl: String(upstream.ready['url']),
      load,
      directory,
    };
    const reports: TimedReport[] = [];
    for (const scenario of chosen) {
      const begunAt = performance.now();
      const report = await scenario.run(context);
      const { costs = [] } = report;
      reports.push({
        ...report,
        tables: [...report.tables, ...(costs.length > 0 ? [costTable(costs, await notedCosts())] : [])],
        name: scenario.name,
        controlMs: redis.speed.take(),
        elapsedMs: performance.now() - begunAt,
      });
    }
    const page = renderPage({
      date,
      elapsedMs: performance.now() - startedAt,
      quick: options.quick,
      machine: describeMachine(),
      redis,
      reports,
    });
    const costs = reports.flatMap(({ name, costs: found = [] }) =>
      found.map((cost) => ({ ...cost, scenario: name })),
    );
    return { page, costs };
  } finally {
    options.progress.clear();
    await Promise.all(children.map((child) => child.stop()));
    await redis.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function choose(names: readonly string[]): readonly Scenario[] {
  const known = [...scenarios, ...onDemand];
  const unknown = names.find((name) => known.every((scenario) => scenario.name !== name));
  if (unknown !== undefined) {
    throw new RangeError(`There is no scenario '${unknown}': use ${scenarioNames.join(', ')}.`);
  }
  return names.length === 0 ? scenarios : known.filter(({ name }) => names.includes(name));
}
