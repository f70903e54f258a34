import { ratios } from '../rounds.ts';
import { median, spread, sum } from '../statistics.ts';
import { cpuCells, figure, spreadFigure, type Table } from '../table.ts';
import type { Durability } from './durable-peer.ts';
import { durabilities, type Results, type Round } from './variant.ts';

const roles = ['load', 'api', 'worker', 'server', 'store', 'upstream'];
/** The processes of a contestant itself; the others send it requests or answer it. */
const ownRoles = ['api', 'worker', 'server', 'store'];

/** One way to load the contestants, and the rounds of each. */
export interface PeerLoad {
  title: string;
  results: Results;
  /** Whether callers wait for the accept only. */
  isBurst: boolean;
}

export function peerTables(loads: readonly PeerLoad[]): Table[] {
  return [
    ...loads.map(resultTable),
    comparison(
      'Throughput of Sluice to that of a peer at the same durability, within each round',
      loads,
      rate,
    ),
    comparison(
      'CPU of all processes of Sluice to those of a peer, load and upstream left out, likewise',
      loads,
      ownCpu,
    ),
  ];
}

function rate({ completed, doneMs }: Round): number {
  return (completed * 1000) / doneMs;
}

function acceptRate({ completed, elapsedMs }: Round): number {
  return (completed * 1000) / elapsedMs;
}

function ownCpu({ cpuMs, completed }: Round): number {
  return sum(ownRoles.map((role) => cpuMs.get(role) ?? 0)) / completed;
}

function resultTable({ title, results, isBurst }: PeerLoad): Table {
  const cpu = roles.map((role) => `${role} CPU`);
  return {
    title: `${title}; CPU in µs a request`,
    columns: [
      '',
      'on disk',
      ...(isBurst ? ['accepted/s'] : []),
      isBurst ? 'done/s' : 'requests/s',
      'p50 ms',
      'p99 ms',
      ...cpu,
      'all CPU',
    ],
    rows: [...results].map(([{ contestant, setting, durability }, rounds]) => [
      `${contestant}, ${setting}`,
      durability,
      ...(isBurst ? [spreadFigure(spread(rounds.map(acceptRate)))] : []),
      spreadFigure(spread(rounds.map(rate))),
      figure(median(rounds.map(({ latencyMs }) => latencyMs.p50))),
      figure(median(rounds.map(({ latencyMs }) => latencyMs.p99))),
      ...cpuCells(rounds, roles, ({ completed }) => completed),
    ]),
  };
}

function comparison(title: string, loads: readonly PeerLoad[], value: (round: Round) => number): Table {
  const names = [
    ...new Set(loads.flatMap(({ results }) => [...results.keys()].map((one) => one.contestant))),
  ];
  const peers = names.filter((name) => name !== 'sluice');
  const roundsOf = (results: Results, name: string, durability: Durability) =>
    [...results].find(([one]) => one.contestant === name && one.durability === durability)?.[1];
  return {
    title,
    columns: ['', 'on disk', ...peers.map((name) => `to ${name}`)],
    rows: loads.flatMap((load) =>
      durabilities.map((durability) => [
        load.title,
        durability,
        ...peers.map((name) => {
          const rounds = roundsOf(load.results, name, durability);
          const own = roundsOf(load.results, 'sluice', durability) ?? [];
          return rounds ? spreadFigure(spread(ratios(own, rounds, value))) : '–';
        }),
      ]),
    ),
  };
}

export interface Described {
  /** The store of Sluice, with its version. */
  sluice: string;
  /** The peers, with their stores. */
  releases: readonly string[];
  /** How many requests each contestant had answered before its first round. */
  warm: ReadonlyMap<string, number>;
  slots: number;
  syncMs: number;
}

export function descriptionOf({ sluice, releases, warm, slots, syncMs }: Described): string {
  const answers = [...warm].map(([name, count]) => `${name} ${count.toLocaleString('en-US')}`);
  return [
    `Sluice (${sluice}) beside ${releases.join(', ')}, in front of the same upstream with the same task: accept a request durably, ` +
      'call the upstream once, keep the answer, and give it to the caller who waits. A request is one prompt and its answer one token, from ' +
      'an upstream that does no work. In a burst callers wait for the accept only, and it lasts until everything has run. The upstream counts ' +
      'its calls, and a run in which one was missing or made twice ends the bench. Sluice also checks a key and a schema, and keeps limits and ' +
      'an order between tenants, which the apis of the peers do without.',
    '`at once` is on disk before anybody is told of it; `soon` is on disk within a second or so, so that a power cut can take what was ' +
      `answered in it. A write of 4 KB with \`fdatasync\` took ${figure(syncMs)} ms (median of 200) on the disk that all of them write to. ` +
      'Restate writes its log `at once` by default. Each other contestant has both settings, which take turns.',
    'pg-boss and graphile-worker have an api and a worker of some fifty lines each, on a Postgres of their own with the defaults of its ' +
      'release. Their jobs are announced by `NOTIFY`, and so are the answers, which stay in a table; Postgres commits transactions that notify one after the other. pg-boss fetches batches of 8 by 8 ' +
      "workers; graphile-worker has its local queue and gathers the ends of jobs. Restate's server is api and store in one, and its worker is " +
      "called over HTTP/2; the call of the upstream is a step of its own. Temporal's server is built from its sources, has all its services " +
      'in one process, 512 shards and a Postgres of its own; its api, as short as theirs, starts a workflow for each request and waits for its ' +
      `result, and the workflow has one activity, the call of the upstream. Every other worker has ${slots} slots.`,
    `Every contestant is warm: before the first round they had answered ${answers.join(', ')} requests.`,
  ].join('\n\n');
}
