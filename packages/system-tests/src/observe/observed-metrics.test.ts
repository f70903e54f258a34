import { beforeAll, describe, expect, it } from 'vitest';
import { testService } from '../service.ts';
import {
  dashboardQueries,
  firedByTests,
  metricNames,
  readDashboard,
  readRules,
  readRunbook,
} from './observe-files.ts';

let told: { api: string; worker: string };

const service = testService();
beforeAll(async () => {
  await service.caller.create({ input: 'Hi' });
  const page = async (url: string | undefined) => (await fetch(`${url}/metrics`)).text();
  told = { api: await page(service.adminUrls[0]), worker: await page(service.workers[0]?.healthUrl) };
});

/** The names of the samples that a page has or may have. */
function namesIn(page: string): string[] {
  return [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) => {
    if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`];
    return type === 'summary' ? [name, `${name}_sum`, `${name}_count`] : [name];
  });
}

describe('the alert rules and the dashboard', () => {
  it('name no metric that the service does not have', () => {
    const known = new Set([...namesIn(told.api), ...namesIn(told.worker)]);
    const queries = [
      ...readRules().map(({ alert, expr }) => ({ where: alert, expr })),
      ...dashboardQueries().map(({ panel, expr }) => ({ where: panel, expr })),
    ];
    const unknown = queries.flatMap(({ where, expr }) =>
      metricNames(expr).flatMap((name) => (known.has(name) ? [] : `${where}: ${name}`)),
    );
    expect(unknown).toEqual([]);
    expect(queries.flatMap(({ expr }) => metricNames(expr)).length).toBeGreaterThan(queries.length / 2);
  });

  it('lead nobody astray: each alert says what is wrong, has a section in the runbook, and was made to fire', () => {
    const sections = [...readRunbook().matchAll(/^### (\S+)$/gm)].map(([, title = '']) => title);
    const fired = firedByTests();
    const alerts = readRules();
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\.$/);
      expect(annotations.runbook, alert).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
      expect(sections, alert).toContain(alert);
      expect(fired, alert).toContain(alert);
    }
    expect(new Set(sections)).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });
});

describe('the dashboard', () => {
  it('asks whatever data source is chosen, and every panel has a unit and lines with names', () => {
    const { panels, templating } = readDashboard();
    const shown = panels.filter(({ type }) => type !== 'row');
    expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, type, datasource, fieldConfig, targets = [] } of shown) {
      expect(datasource?.uid, title).toBe('${datasource}');
      expect(fieldConfig?.defaults.unit, title).toBeTypeOf('string');
      expect(targets.length, title).toBeGreaterThan(0);
      for (const target of targets) {
        expect(target.datasource.uid, title).toBe('${datasource}');
        if (type === 'timeseries') expect(target.legendFormat, title).not.toBe('');
      }
    }
  });
});

/** The labels of our metrics. Their values come from the settings and from the code, never from clients. */
const boundedLabels = new Set(
  ['role', 'le', 'quantile', 'version', 'level', 'queue', 'state', 'model', 'mode', 'status', 'code'].concat([
    'route',
    'method',
    'begun',
    'direction',
    'because',
    'outcome',
    'cell',
    'provider',
    'upstream_model',
  ]),
);

describe('the metrics', () => {
  it('have no label whose values clients choose', () => {
    const labels = [told.api, told.worker].flatMap((page) =>
      [...page.matchAll(/^sluice_\w+\{([^}]*)\}/gm)].flatMap(([, text = '']) =>
        [...text.matchAll(/(\w+)="/g)].map(([, name = '']) => name),
      ),
    );
    expect(labels).toContain('queue');
    expect([...new Set(labels)].filter((label) => !boundedLabels.has(label))).toEqual([]);
  });
});
