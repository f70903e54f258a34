import { type LocalRedis, type Progress, startLocalRedis, copiedSources } from '@sluice/testing';
import { Redis } from 'ioredis';
import type { FaultsOptions, Part } from './command-line.ts';
import { runBatchKills } from './batch-kills.ts';
import { runCorpus } from './corpus/run-corpus.ts';
import {
  batchSection,
  cellsSection,
  corpusSection,
  eventsSection,
  hostileSections,
  matrixSections,
  mixSection,
  mutantsSection,
  outageSection,
  renderFaultsPage,
  soakSection,
  type Table,
  testedSection,
} from './faults-page.ts';
import { runHostile } from './hostile/run-hostile.ts';
import { runLongOutage } from './long-outage.ts';
import { runEvents } from './cut-streams.ts';
import { runMix } from './mix.ts';
import { type MutantResult, mutants, runMutant } from './mutants.ts';
import { runSoak } from './soak.ts';
import { faultsOfStore } from './matrix.ts';
import type { Try } from './round.ts';
import { startMatrix } from './run-matrix.ts';
import type { SeveralPrimaries } from './site-stores.ts';
import { runTestsWithout, type TestedResult } from './run-tests-without.ts';
import { testedMechanisms } from './tested-mechanisms.ts';

/** What one part of the suite came to. */
export interface PartReport {
  sections: Table[];
  /** Each names what was violated, its seed and the history of the response. */
  violations: string[];
}

/** The report of a part, which each of its violations names. */
function reportOf(part: string, sections: Table[], violations: readonly string[]): PartReport {
  return { sections, violations: violations.map((violation) => `${part}: ${violation}`) };
}

type PartRunner = (options: FaultsOptions, progress: Progress) => Promise<PartReport>;

/** How many sites work at a time: they mostly wait for locks to expire. */
const lanes = 2;

/** Runs the parts one after the other. Every process that it started has ended when it settles. */
export async function runFaults(
  options: FaultsOptions,
  progress: Progress,
): Promise<{ page: string; sections: Table[]; violations: string[] }> {
  const startedAt = performance.now();
  const reports: PartReport[] = [];
  for (const part of options.parts) reports.push(await runners[part](options, progress));
  const sections = reports.flatMap((report) => report.sections);
  const page = await withVersion((redis) =>
    renderFaultsPage({
      ...options,
      tookMs: performance.now() - startedAt,
      redis,
      sections,
    }),
  );
  return { page, sections, violations: reports.flatMap(({ violations }) => violations) };
}

const runners: Record<Part, PartRunner> = {
  matrix: runMatrix,
  cells: strikeOneCell,
  mutants: switchOff,
  corpus: sendCorpus,
  hostile: beHostile,
  mix: mixFaults,
  outage: goWithoutRedis,
  events: readEvents,
  batch: killBatch,
  soak,
};

async function runMatrix({ only, tries, seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  let rounds = 0;
  const { rounds: running, done } = startMatrix({
    ...(only !== undefined && { only }),
    tries,
    seed,
    lanes,
    onRound: (fault) => progress.say(`matrix: round ${(rounds += 1)}, ${fault}`),
  });
  await done;
  const all = (await Promise.all(running.values())).flat();
  return {
    sections: matrixSections(all),
    violations: all.flatMap(({ name, problems }) =>
      problems.map((problem) => `${name} (seed ${seed}): ${problem}`),
    ),
  };
}

/** Strikes one of three primaries, by themselves and in a cluster: the first one, which has more than responses, and another one. */
async function strikeOneCell(options: FaultsOptions, progress: Progress): Promise<PartReport> {
  const reports: PartReport[] = [];
  for (const topology of ['three primaries', 'cluster'] as const)
    reports.push(await strikeOneOf(topology, options, progress));
  return {
    sections: reports.flatMap(({ sections }) => sections),
    violations: reports.flatMap(({ violations }) => violations),
  };
}

async function strikeOneOf(
  topology: SeveralPrimaries,
  { only, tries, seed }: FaultsOptions,
  progress: Progress,
): Promise<PartReport> {
  const struck = [0, 2] as const;
  const all: Try[] = [];
  for (const struckCell of struck) {
    const place = `${struckCell === 0 ? 'the first' : 'another'} one of ${topology}`;
    const { rounds, done } = startMatrix({
      ...(only !== undefined && { only }),
      faults: faultsOfStore,
      topology,
      struckCell,
      tries: Math.ceil(tries / struck.length),
      seed,
      lanes: 1,
      onRound: (fault) => progress.say(`cells: ${fault} at ${place}`),
    });
    await done;
    all.push(...(await Promise.all(rounds.values())).flat());
  }
  return {
    sections: [cellsSection(topology, all)],
    violations: all.flatMap(({ name, problems }) =>
      problems.map((problem) => `one of ${topology}: ${name} (seed ${seed}): ${problem}`),
    ),
  };
}

async function sendCorpus({ requests, seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await withServer(({ url }) =>
    runCorpus({
      requests,
      seed,
      redisUrl: url,
      isCompared: true,
      onProgress: (sent) => progress.say(`corpus: ${sent} of ${requests} requests`),
    }),
  );
  return reportOf(`corpus (seed ${seed})`, [corpusSection(result)], result.problems);
}

async function beHostile({ only = '' }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await withServer(({ url }) =>
    runHostile({ redisUrl: url, only, onProgress: (said) => progress.say(said) }),
  );
  return reportOf('hostile', hostileSections(result), result.violations);
}

async function switchOff({ only = '', seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const results: MutantResult[] = [];
  const wanted = mutants.filter(({ name }) => name.includes(only));
  for (const mutant of wanted) {
    progress.say(`mutants: ${mutant.name}`);
    results.push(await runMutant(mutant, seed));
  }
  const { tested, problems } = await switchOffInSources(only, progress);
  const unnoticed = [
    ...results.filter(({ failed }) => failed.length === 0).map(({ mutant }) => mutant.name),
    ...tested.filter(({ failed }) => failed.length === 0).map(({ mechanism }) => mechanism.name),
  ];
  return {
    sections: [mutantsSection(results), testedSection(tested)],
    violations: [
      ...unnoticed.map((name) => `mutants (seed ${seed}): nothing fails although ${name}`),
      ...problems.map((problem) => `mutants: ${problem}`),
    ],
  };
}

/** The same for mechanisms that tests of their own stand on. */
async function switchOffInSources(
  only: string,
  progress: Progress,
): Promise<{ tested: TestedResult[]; problems: string[] }> {
  await using copy = await copiedSources();
  const tested: TestedResult[] = [];
  const problems: string[] = [];
  for (const mechanism of testedMechanisms.filter(({ name }) => name.includes(only))) {
    progress.say(`mechanisms: ${mechanism.name}`);
    try {
      tested.push({ mechanism, failed: await runTestsWithout(mechanism, copy.root) });
    } catch (error) {
      problems.push(`${mechanism.name}: ${String(error)}`);
    }
  }
  return { tested, problems };
}

async function mixFaults({ mixMinutes, seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await runMix({ minutes: mixMinutes, seed, onProgress: (said) => progress.say(said) });
  return reportOf('mix', [mixSection(result, mixMinutes)], result.violations);
}

async function goWithoutRedis({ outageMinutes }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await runLongOutage({ minutes: outageMinutes, onProgress: (said) => progress.say(said) });
  return reportOf('outage', [outageSection(result)], result.violations);
}

async function readEvents({ events, seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await runEvents({ events, seed, onProgress: (said) => progress.say(said) });
  return reportOf(`events (seed ${seed})`, [eventsSection(result)], result.violations);
}

async function killBatch({ lines, seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await runBatchKills({ lines, seed, onProgress: (said) => progress.say(said) });
  return reportOf(`batch (seed ${seed})`, [batchSection(result)], result.violations);
}

async function soak({ soakMinutes, seed }: FaultsOptions, progress: Progress): Promise<PartReport> {
  const result = await runSoak({ minutes: soakMinutes, seed, onProgress: (said) => progress.say(said) });
  return reportOf(`soak (seed ${seed})`, [soakSection(result)], result.violations);
}

/** The page names the server that it ran on. */
function withVersion<T>(use: (redis: Redis) => Promise<T>): Promise<T> {
  return withServer(async ({ url }) => {
    const redis = new Redis(url, { protocol: 2 });
    try {
      return await use(redis);
    } finally {
      redis.disconnect();
    }
  });
}

async function withServer<T>(use: (server: LocalRedis) => Promise<T>): Promise<T> {
  const server = await startLocalRedis({ kind: 'server' });
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}
