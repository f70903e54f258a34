import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import type { Redis } from 'ioredis';

export interface Table {
  title: string;
  text: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** The page of results, in Markdown. Every figure on it was measured or read in this run, or is a goal. */
export async function renderDeliveryPage(run: {
  tables: readonly Table[];
  seed: number;
  tookMs: number;
  redis: Redis;
}): Promise<string> {
  const sections = run.tables.map(
    ({ title, text, columns, rows }) => `## ${title}\n\n${text}\n\n${table(columns, rows)}`,
  );
  return `${[introduction, await conditions(run), ...sections].join('\n\n')}\n`;
}

const introduction = `# Delivery, measured

<!-- Written by \`packages/system-tests/src/measure-delivery.ts\`. Do not edit: run it again. -->

What callers, readers and upstreams see of streams that break, readers that stop, and responses that are cancelled or
left. Two apis and two workers run as built, over one Redis, on one machine together with the clients and the upstream.
\`npm run build\` and then \`npx node --conditions=sluice-source packages/system-tests/src/measure-delivery.ts\` writes this
page; smaller versions of everything on it run with the tests.`;

/** What the figures of a page depend on, as a table. */
export async function conditions({
  seed,
  tookMs,
  redis,
  others = [],
}: {
  seed: number;
  tookMs: number;
  redis: Redis;
  others?: readonly (readonly string[])[];
}): Promise<string> {
  const cpu = cpus()[0]?.model.trim() ?? 'unknown';
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  const server = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
  return table(
    ['', ''],
    [
      [
        'date',
        `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(tookMs / 1000)} s`,
      ],
      ['machine', `${cpu}, ${availableParallelism()} cores, ${memoryGiB} GiB, ${type()} ${release()}`],
      ['versions', `sluice ${ownVersion()}, Node ${process.version.slice(1)}, Redis ${server}`],
      ['seed', String(seed)],
      ...others,
    ],
  );
}

function ownVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version; // every package.json has a version
}

/** A table in Markdown. Words of the first column are aligned left, and figures right. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(columns), line(columns.map((_, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
