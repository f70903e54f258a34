import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Mapping, readChartFile, readTemplates } from './chart-files.ts';

// What the templates say of the product, held against the product, without helm.
const workspace = fileURLToPath(new URL('../../../..', import.meta.url));
const read = (path: string) => readFileSync(join(workspace, path), 'utf8');
const reference = read('docs/settings.md');
const dockerfile = read('Dockerfile');
const templates = [...readTemplates().values()].join('\n');
const values = parse(readChartFile('values.yaml')) as {
  api: Mapping;
  worker: Mapping;
};
const schema = JSON.parse(readChartFile('values.schema.json')) as {
  definitions: { settings: { properties: Record<string, { properties?: Mapping }> } };
};

/** The texts that a pattern finds in its first group. */
const all = (pattern: RegExp, text: string) => [...text.matchAll(pattern)].map(([, found = '']) => found);

/** The default of a setting in the reference. */
const defaultOf = (setting: string) =>
  Number(new RegExp(`^\\| \`${setting}\` \\|[^|]*\\| \`(\\d+)\``, 'm').exec(reference)?.[1]);

/** The variables that Sluice reads; besides them Node.js reads its own. */
const variables = all(/^\| `([A-Z_]+)` \|/gm, reference);

describe('the templates of the chart', () => {
  it('set variables that Sluice reads, and none besides', () => {
    const set = [
      ...all(/"name" "([A-Z_]+)" "value"/g, templates),
      ...all(/"(REDIS_URL|ADMIN_TOKEN|ADMIN_ACTION_TOKEN)"/g, templates),
    ];
    expect(set).toEqual(
      expect.arrayContaining(['REDIS_URL', 'PORT', 'WORKER_HEALTH_PORT', 'DRAIN_TIMEOUT_MS']),
    );
    for (const name of set) expect([...variables, 'NODE_OPTIONS']).toContain(name);
  });

  it('set every variable of an api and of a worker', () => {
    // Only `start` has the first one, and `extraEnv` has those of OpenTelemetry.
    const others = variables.filter((each) => each !== 'SLUICE_DISCOVER' && !each.startsWith('OTEL_'));
    for (const name of others) expect(templates).toContain(`"${name}"`);
  });

  it('use the ports that the image exposes', () => {
    const ports = all(/define "sluice\.port\.\w+" -}}(\d+){{/g, templates);
    expect(ports).toEqual(/^EXPOSE (.*)$/m.exec(dockerfile)?.[1]?.split(' '));
  });

  it('probe paths that the API describes', () => {
    const { paths } = JSON.parse(read('docs/openapi.json')) as { paths: Mapping };
    const probed = all(/httpGet: { path: ([^,]+),/g, templates);
    expect(new Set(probed)).toEqual(new Set(['/healthz', '/readyz']));
    for (const path of probed) expect(Object.keys(paths)).toContain(path);
  });

  it('run the user of the image, who writes to the folder of data that the image names', () => {
    const [, user, group] = /^USER (\d+):(\d+)$/m.exec(dockerfile) ?? [];
    expect(all(/runAsUser: (\d+)/g, templates)).toEqual([user]);
    expect(all(/runAsGroup: (\d+)/g, templates)).toEqual([group]);
    const folder = /\bDATA_DIR=(\S+)/.exec(dockerfile)?.[1];
    for (const value of all(/"DATA_DIR" "value" "([^"]+)"/g, templates)) expect(value).toBe(folder);
    expect(folder).toMatch(/^\/tmp\//);
  });

  it('leave a restart out for the settings that a running api or worker takes up', () => {
    const paragraph =
      /^Each running api and worker reads the file again[\s\S]*?\n\n/m.exec(reference)?.[0] ?? '';
    const [ofBoth = '', ofApis = ''] = paragraph.split('in\nan api also');
    const namesIn = (text: string) => all(/`(\w+)`/g, text).filter((name) => name !== 'limits');
    const leftOutIn = (name: string) => {
      const template = new RegExp(`define "${name}"[\\s\\S]*?\\n{{- toYaml`).exec(templates)?.[0] ?? '';
      const names = all(/"([a-zA-Z]+)"/g, template.replaceAll('"limits"', ''));
      return new Set(names.filter((each) => each !== 'root' && each !== 'pool'));
    };
    expect(leftOutIn('sluice\\.apiSettingsForRestart')).toEqual(
      new Set([...namesIn(ofBoth), ...namesIn(ofApis)]),
    );
    expect(leftOutIn('sluice\\.workerSettingsForRestart')).toEqual(new Set([...namesIn(ofBoth), 'keys']));
  });
});

describe('the settings in the values', () => {
  const { properties } = schema.definitions.settings;
  const sections = all(/^### ([a-z]+)$/gm, reference);
  const outside = reference.split('### Without a section')[1]?.split('###')[0] ?? '';
  const server = reference.split('### server')[1]?.split('###')[0] ?? '';
  // A variable that the chart sets wins over the file.
  const ofTheChart = [
    ...['redisUrl', 'logLevel', 'dataDir', 'drainTimeoutMs', 'workerConcurrency', 'workerHealthPort'],
    ...['workers', 'discover', 'host', 'port', 'adminHost', 'adminPort', 'adminToken', 'adminActionToken'],
  ];
  const free = (text: string) => all(/^\| `(\w+)` \|/gm, text).filter((name) => !ofTheChart.includes(name));

  it('are all that the chart does not set by itself', () => {
    expect(Object.keys(properties).toSorted()).toEqual([...free(outside), ...sections].toSorted());
    expect(Object.keys(properties['server']?.properties ?? {}).toSorted()).toEqual(free(server).toSorted());
  });

  it('have the defaults of the product where the chart sets them', () => {
    expect(values.worker['concurrency']).toBe(defaultOf('workerConcurrency'));
    expect(values.worker['drainTimeoutMs']).toBe(defaultOf('drainTimeoutMs'));
    expect(values.api['drainTimeoutMs']).toBe(defaultOf('drainTimeoutMs'));
  });
});

describe('the chart', () => {
  it('is for the release that it is part of', () => {
    const chart = parse(readChartFile('Chart.yaml')) as { appVersion: string };
    const { version } = JSON.parse(read('apps/sluice/package.json')) as { version: string };
    expect(chart.appVersion).toBe(version);
  });

  it('says in its README what each section of the values is', () => {
    const readme = readChartFile('README.md');
    for (const name of Object.keys(values)) expect(readme).toContain(`\`${name}`);
  });
});
