import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The root of the workspace. */
const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** What the profile `observe` gives to Prometheus and Grafana. */
export const observeFolder = join(root, 'deploy/observe');

export interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

export interface RuleFile {
  groups: { name: string; rules: AlertRule[] }[];
}

interface RuleTestFile {
  tests: { alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[] }[];
}

export interface Panel {
  id: number;
  type: string;
  title: string;
  datasource?: { uid: string };
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string; legendFormat: string; datasource: { uid: string } }[];
}

interface Dashboard {
  panels: Panel[];
  templating: { list: { name: string; type: string; query: unknown }[] };
}

export function readRuleFile(): RuleFile {
  return parse(readFileSync(join(observeFolder, 'rules/sluice.yml'), 'utf8')) as RuleFile; // promtool checks its shape
}

export const readRules = () => readRuleFile().groups.flatMap(({ rules }) => rules);

export const ruleTestFiles = () => globSync(join(observeFolder, 'tests/*_test.yml'));

/** Names of the alerts that a test of the rules makes fire. */
export function firedByTests(): Set<string> {
  const files = ruleTestFiles().map((file) => parse(readFileSync(file, 'utf8')) as RuleTestFile);
  const tests = files.flatMap((file) => file.tests).flatMap((test) => test.alert_rule_test ?? []);
  return new Set(tests.filter(({ exp_alerts: fired }) => fired.length > 0).map(({ alertname }) => alertname));
}

export function readDashboard(): Dashboard {
  const text = readFileSync(join(observeFolder, 'grafana/dashboards/sluice.json'), 'utf8');
  return JSON.parse(text) as Dashboard; // a test looks at its parts
}

/** Every query of the dashboard as Prometheus gets it, with the panel that asks. */
export function dashboardQueries(): { panel: string; expr: string }[] {
  return readDashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, expr: filledIn(expr) })),
  );
}

export function readRunbook(): string {
  return readFileSync(join(root, 'docs/runbook.md'), 'utf8');
}

/** The names of the service's metrics in a query. */
export function metricNames(query: string): string[] {
  return [...query.matchAll(/\b(?:sluice|process|nodejs)_\w+/g)].map(([name]) => name);
}

/** With Grafana's variables as they are at first. */
function filledIn(expr: string): string {
  return expr.replaceAll('$model', '.*').replaceAll('$__rate_interval', '1m');
}
