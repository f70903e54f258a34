import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of V8's CPU profile that this file reads. Times are microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: CallFrame }[];
  samples: number[];
  timeDeltas: number[];
}

/** Where a function begins; lines and columns count from zero. */
interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

/** The most rows of a table. Smaller shares are left out. */
const mostRows = 14;

/**
 * Makes a page of the profiles that `npm run bench -- --profile DIR` wrote. The page shows on which packages an api and a
 * worker spend their busy time, start-up included.
 *
 * `npx node --conditions=sluice-source packages/bench/src/profile-page.ts DIR > docs/profile.md`
 */
export function profilePage(directory: string): string {
  const parts = ['api', 'worker'].map((role) => {
    const own = join(directory, role);
    const file = readdirSync(own).find((name) => name.endsWith('.cpuprofile'));
    if (file === undefined)
      throw new Error(`There is no profile in ${own}: run the benchmark with --profile first.`);
    const shares = sharesByPackage(JSON.parse(readFileSync(join(own, file), 'utf8')) as CpuProfile); // written by V8
    const rows = shares
      .slice(0, mostRows)
      .map(([name, share]) => `| ${name} | ${(share * 100).toFixed(1)} |`);
    return `## ${role}\n\n| where | % of its busy time |\n| --- | ---: |\n${rows.join('\n')}\n`;
  });
  return `# Where the time goes

<!-- Written by \`packages/bench/src/profile-page.ts\`. Do not edit: run it again. -->

CPU profiles of an api and a worker while they serve the synchronous scenario of [benchmarks.md](benchmarks.md), one request at
a time, then 16, then 64. A share is the time in functions of that package itself, not in what they call. Machine: ${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores; Node ${process.versions.node}; ${new Date().toISOString().slice(0, 10)}.

\`npm run bench -- --profile DIR --scenario synchronous-requests\` makes the profiles.

${parts.join('\n')}`;
}

function sharesByPackage({ nodes, samples, timeDeltas }: CpuProfile): [name: string, share: number][] {
  const owners = new Map(nodes.map(({ id, callFrame }) => [id, ownerOf(callFrame)]));
  const times = new Map<string, number>();
  let busy = 0;
  samples.forEach((id, at) => {
    const owner = owners.get(id) ?? '(unknown)';
    const time = timeDeltas[at] ?? 0;
    if (owner === '(idle)') return;
    busy += time;
    times.set(owner, (times.get(owner) ?? 0) + time);
  });
  return [...times]
    .map(([name, time]): [string, number] => [name, time / busy])
    .toSorted((a, b) => b[1] - a[1]);
}

function ownerOf(frame: CallFrame): string {
  const { functionName } = frame;
  if (frame.url === '') {
    if (functionName.startsWith('write')) return '(writes to sockets)';
    return functionName.startsWith('(') ? functionName : '(native)';
  }
  const url = sourceOf(frame);
  const dependency = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1];
  if (dependency !== undefined) return dependency;
  const own = /\/(packages|apps)\/([^/]+)\//.exec(url)?.[2];
  if (own !== undefined) return `**${own}**`;
  return url.startsWith('node:internal/modules') ? 'node: loading modules' : 'node';
}

const maps = new Map<string, SourceMap | undefined>();

/** The source of a function; what runs is a bundle, whose maps tell. */
function sourceOf({ url, lineNumber, columnNumber }: CallFrame): string {
  const file = url.startsWith('file:') ? `${fileURLToPath(url)}.map` : '';
  if (!maps.has(file)) {
    const isThere = file !== '' && existsSync(file);
    maps.set(
      file,
      isThere ? new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload) : undefined,
    );
  }
  const entry = maps.get(file)?.findEntry(lineNumber, columnNumber);
  // Sources are relative to their map.
  return entry && 'originalSource' in entry ? new URL(entry.originalSource, url).href : url;
}

if (import.meta.main) console.log(profilePage(process.argv[2] ?? '.').trimEnd());
