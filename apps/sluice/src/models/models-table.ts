import type { DiscoveringProvider, RouteSettings } from '@sluice/config';
import type { KnownList } from '@sluice/wiring';
import { type Column, columnsText } from '../table.ts';

/** A model, as the command prints it. */
export interface ModelRow {
  model: string;
  from: 'file' | 'stored' | 'discovered';
  routes: readonly RouteSettings[];
  queue: string;
  state: 'open' | 'paused';
  /** Jobs of the whole queue, which other models may share. */
  waiting: number;
  active: number;
  /** Null where it has no limit. */
  concurrency: number | null;
}

const columns: readonly Column<ModelRow>[] = [
  ['model', ({ model }) => model],
  ['from', ({ from }) => from],
  ['routes', ({ model, routes }) => routes.map((route) => routeText(route, model)).join(', ')],
  ['queue', ({ queue }) => queue],
  ['state', ({ state }) => state],
  ['waiting', ({ waiting }) => String(waiting)],
  ['active', ({ active }) => String(active)],
  ['at most', ({ concurrency }) => (concurrency === null ? '-' : String(concurrency))],
];

export function modelsTable(rows: readonly ModelRow[]): string {
  return columnsText(columns, rows);
}

function routeText({ provider, model }: RouteSettings, id: string): string {
  return model === id ? provider : `${provider}:${model}`;
}

/** A line on each provider that discovers its models: how many it lists, since when, and what is wrong. */
export function discoveryLines(
  providers: readonly DiscoveringProvider[],
  known: (id: string) => KnownList | undefined,
  now: number,
): string[] {
  return providers.map(({ id, discovery }) => {
    const { models = [], listedAt, fault } = known(id) ?? {};
    const problem = fault === undefined ? '' : `; now it ${fault}`;
    if (listedAt === undefined) return `${id} has listed no models yet${problem || ': a worker asks it'}`;
    const ageMs = Math.max(0, now - listedAt);
    const isOver = ageMs > discovery.keepMs ? ', which are no longer offered' : '';
    return `${id} listed ${models.length} ${Math.round(ageMs / 1000)} s ago${isOver}${problem}`;
  });
}
