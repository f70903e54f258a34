import { type Policy, ServerSimulation, type SimulationOptions } from './simulate-servers.ts';

/*
 * Compares ways to choose one of ten servers, and prints two tables for docs/decisions/0061-servers-by-affinity-and-load.md,
 * the second of them for servers with few calls:
 *
 *   node --conditions=sluice-source apps/worker/test/server-choices.ts [calls]
 */

const calls = Number(process.argv[2] ?? 20_000);
const seeds = [1, 2, 3];
const policies: readonly Policy[] = ['single', 'ours', 'consistent hashing', 'least loaded', 'round robin'];

const names: Record<Policy, string> = {
  single: 'one server with the sum of all caches',
  ours: 'rendezvous hashing with bounded load',
  'consistent hashing': 'plain consistent hashing',
  'least loaded': 'least loaded',
  'round robin': 'round robin',
};

function averageOf(policy: Policy, more: Partial<SimulationOptions>) {
  const results = seeds.map((seed) => new ServerSimulation({ policy, seed, calls, ...more }).run());
  const mean = (of: (result: (typeof results)[number]) => number) =>
    results.reduce((sum, result) => sum + of(result), 0) / results.length;
  return {
    hits: mean(({ hits, blocks }) => hits / blocks),
    waitMs: mean(({ p99WaitMs }) => p99WaitMs),
    most: Math.max(...results.map(({ mostOfCalls }) => mostOfCalls)),
  };
}

const lines = [
  '| choice | prompt blocks found in a cache | of the single cache | p99 wait for the first token | most calls of a server, in shares |',
  '| --- | --: | --: | --: | --: |',
];
let best: number | undefined;
for (const policy of policies) {
  const { hits, waitMs, most } = averageOf(policy, {});
  best ??= hits;
  lines.push(
    `| ${names[policy]} | ${(hits * 100).toFixed(1)} % | ${(hits / best).toFixed(2)} | ${(waitMs / 1000).toFixed(1)} s | ${most.toFixed(2)} |`,
  );
}
process.stdout.write(`${lines.join('\n')}\n`);

const few = [
  '| calls a second | prompt blocks found in a cache | of the single cache | most calls of a server, in shares |',
  '| --: | --: | --: | --: |',
];
for (const callsPerSecond of [0.5, 1, 2, 5, 10, 20]) {
  const { hits, most } = averageOf('ours', { callsPerSecond });
  const single = averageOf('single', { callsPerSecond });
  few.push(
    `| ${callsPerSecond} | ${(hits * 100).toFixed(1)} % | ${(hits / single.hits).toFixed(2)} | ${most.toFixed(2)} |`,
  );
}
process.stdout.write(`\n${few.join('\n')}\n`);
