import { spawnSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';
import { chartFolder, isMapping, type Mapping } from './chart-files.ts';

/** An object for the API server of Kubernetes. */
export interface Manifest extends Mapping {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
}

/** Whether `helm` is on the PATH. */
export const hasHelm = spawnSync('helm', ['version']).status === 0;

/** The release and the namespace of everything that is rendered. */
export const release = { name: 'prod', namespace: 'models' };

export interface RenderOptions {
  /** Paths of files with values. */
  files?: readonly string[];
  /** Further values, which win. */
  values?: Mapping;
}

/** Renders the chart as an installation would. Throws what helm says when it refuses. */
export function renderChart(options: RenderOptions): Manifest[] {
  const { status, stdout, stderr } = runHelm('template', options);
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => {
    for (const problem of [...document.errors, ...document.warnings]) throw problem;
    const value: unknown = document.toJS();
    if (value === null) return [];
    if (!isManifest(value)) throw new Error(`not an object of Kubernetes:\n${document.toString()}`);
    return [value];
  });
}

/** What helm says when it refuses the values. Throws when it does not. */
export function refusalOf(options: RenderOptions): string {
  const { status, stderr } = runHelm('template', options);
  if (status === 0) throw new Error('helm renders the chart with these values');
  return stderr;
}

/** Has helm look at the chart with these values. Returns what it finds wrong, and nothing when all is well. */
export function lintChart(options: RenderOptions): string {
  const { status, stdout, stderr } = runHelm('lint', options);
  return status === 0 ? '' : `${stdout}${stderr}`;
}

function runHelm(command: 'template' | 'lint', { files = [], values = {} }: RenderOptions) {
  const args = [
    ...(command === 'lint' ? ['lint', '--strict', chartFolder] : ['template', release.name, chartFolder]),
    ...['--namespace', release.namespace],
    ...files.flatMap((file) => ['--values', file]),
    ...['--values', '-'],
  ];
  return spawnSync('helm', args, { encoding: 'utf8', input: JSON.stringify(values) });
}

function isManifest(value: unknown): value is Manifest {
  return isMapping(value) && typeof value['kind'] === 'string' && isMapping(value['metadata']);
}
