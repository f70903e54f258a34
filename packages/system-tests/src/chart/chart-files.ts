import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** Where the chart is. */
export const chartFolder = fileURLToPath(new URL('../../../../deploy/helm/sluice', import.meta.url));

/** The values that the chart is checked with, by the name of the file without `-values.yaml`. */
export const valuesFiles: ReadonlyMap<string, string> = new Map(
  globSync(join(chartFolder, 'ci/*-values.yaml'))
    .toSorted()
    .map((path) => [basename(path, '-values.yaml'), path]),
);

/** A mapping of YAML. */
export type Mapping = Record<string, unknown>;

/** Reads a file of the chart. */
export function readChartFile(path: string): string {
  return readFileSync(join(chartFolder, path), 'utf8');
}

/** Reads a file of values, or another YAML file with one mapping. */
export function readMapping(path: string): Mapping {
  const value: unknown = parse(readFileSync(path, 'utf8'));
  if (!isMapping(value)) throw new Error(`${path} is no mapping`);
  return value;
}

/** The example of values in docs/deployment.md. */
export function valuesOfThePage(): Mapping {
  const page = readFileSync(join(chartFolder, '../../../docs/deployment.md'), 'utf8');
  const block = /With values of your own[^`]*`--values`[^`]*```yaml\n([\s\S]*?)```/.exec(page)?.[1];
  const values: unknown = parse(block ?? '');
  if (!isMapping(values)) throw new Error('docs/deployment.md has no example of values');
  return values;
}

/** The values of an installation, as Helm makes them of the chart's own and those that are given. */
export function mergeValues(defaults: Mapping, given: Mapping): Mapping {
  const merged: Mapping = { ...defaults };
  for (const [name, value] of Object.entries(given)) {
    const before = merged[name];
    if (value === null) delete merged[name];
    else merged[name] = isMapping(value) && isMapping(before) ? mergeValues(before, value) : value;
  }
  return merged;
}

/** The text of every template, by its path in the chart. */
export function readTemplates(): Map<string, string> {
  const paths = globSync('templates/**/*.{yaml,tpl,txt}', { cwd: chartFolder });
  return new Map(paths.map((path) => [path, readChartFile(path)]));
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
