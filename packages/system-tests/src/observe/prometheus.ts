import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eventually, freePort, within } from '@sluice/testing';
import { parse, stringify } from 'yaml';
import { observeFolder, readRuleFile, type RuleFile } from './observe-files.ts';

/** Whether there are a Prometheus and its promtool on the PATH. */
export const hasPrometheus = ['prometheus', 'promtool'].every((program) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program))),
);

/** Runs promtool to its end. */
export function promtool(...args: string[]): { code: number | null; out: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', timeout: 60_000 });
  return { code: status, out: stdout + stderr };
}

/** What a query gives: a value for each series, over all times that it was asked for. */
export type QueryResult = { metric: Record<string, string>; values: [number, string][] }[];

/** A Prometheus that scrapes each second and judges with the service's own rules, in seconds where they have minutes. */
export interface Prometheus {
  /** The health of each target by its job and address. */
  targets: () => Promise<{ job: string; instance: string; health: string; lastError: string }[]>;
  /** Every value of the last minute. Rejects for a query that it does not take. */
  query: (expr: string) => Promise<QueryResult>;
  /** The labels of an alert that fires with these labels; undefined while none does. */
  firing: (alert: string, having?: Record<string, string>) => Promise<Record<string, string> | undefined>;
  stop: () => Promise<void>;
}

export interface PrometheusOptions {
  /** Addresses by job, as `host:port`. */
  targets: Readonly<Record<string, readonly string[]>>;
  adminToken: string;
}

export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-prometheus-'));
  await writeConfig(directory, options);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await within(exited);
    await rm(directory, { recursive: true, force: true });
  };
  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://${address}/api/v1/${path}`);
    const body = (await answer.json()) as { status: string; data: unknown; error?: string };
    if (body.status !== 'success') throw new Error(`${path}: ${body.error}`);
    return body.data;
  };
  try {
    await eventually(async () => (await fetch(`http://${address}/-/ready`)).ok, { timeoutMs: 30_000 });
  } catch (cause) {
    await stop();
    throw new Error(`Prometheus did not start:\n${errors}`, { cause });
  }
  return {
    async targets() {
      // As the HTTP API of Prometheus says.
      const { activeTargets } = (await ask('targets')) as {
        activeTargets: { labels: { job: string; instance: string }; health: string; lastError: string }[];
      };
      return activeTargets.map(({ labels, ...rest }) => ({ ...labels, ...rest }));
    },
    async query(expr) {
      const now = Date.now() / 1000;
      const range = new URLSearchParams({
        query: expr,
        start: String(now - 60),
        end: String(now),
        step: '1',
      });
      return ((await ask(`query_range?${range}`)) as { result: QueryResult }).result;
    },
    async firing(alert, having = {}) {
      const { alerts } = (await ask('alerts')) as {
        alerts: { labels: Record<string, string>; state: string }[];
      };
      const wanted = Object.entries({ alertname: alert, ...having });
      return alerts.find(
        ({ labels, state }) =>
          state === 'firing' && wanted.every(([label, value]) => labels[label] === value),
      )?.labels;
    },
    stop,
  };
}

/** The configuration of the service, but for where the targets and the token are, and how fast time passes. */
async function writeConfig(directory: string, { targets, adminToken }: PrometheusOptions): Promise<void> {
  const config = parse(readFileSync(join(observeFolder, 'prometheus.yml'), 'utf8')) as {
    global: object;
    scrape_configs: { job_name: string; authorization: object }[];
  };
  const tokenFile = join(directory, 'admin-token');
  const scrapeConfigs = config.scrape_configs.map(({ job_name: job, authorization }) => ({
    job_name: job,
    authorization: { ...authorization, credentials_file: tokenFile },
    static_configs: [{ targets: targets[job] ?? [] }],
  }));
  const global = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' };
  await writeFile(tokenFile, adminToken);
  await writeFile(
    join(directory, 'prometheus.yml'),
    stringify({ ...config, global, scrape_configs: scrapeConfigs }),
  );
  await mkdir(join(directory, 'rules'));
  await writeFile(join(directory, 'rules/sluice.yml'), stringify(hurried(readRuleFile())));
}

/** The rules with seconds for minutes: what they look at is four seconds long for each minute. */
function hurried({ groups }: RuleFile): RuleFile {
  const inSeconds = (expr: string) =>
    expr
      .replaceAll(/\[(\d+)m(:30s)?\]/g, (_, minutes, step) => `[${Number(minutes) * 4}s${step ? ':1s' : ''}]`)
      .replace('> 300', '> 3');
  return {
    groups: groups.map(({ rules, ...group }) => ({
      ...group,
      rules: rules.map((rule) => ({ ...rule, expr: inSeconds(rule.expr), ...(rule.for && { for: '1s' }) })),
    })),
  };
}
