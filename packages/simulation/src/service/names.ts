import { type CellKeys, redisKeys } from '@sluice/response-store';

/** Names that the settings, the callers and the checks have in common. */

export const keyPrefix = 'sim';

/** The cells of a service that has three; others have the first of them. Each of two is the home of some tenants. */
export const cellNames = ['0', 's', 'E'] as const;

/** The keys of the service, where it has so many cells. Tenants move when cells come and go. */
export function keysOf(
  cells: number,
  doTenantsMove = false,
): {
  inCell: (at: number) => CellKeys;
  /** The cells in which responses of a tenant may be. */
  cellsOf: (tenant: TenantName) => number[];
} {
  const names: readonly string[] = cellNames.slice(0, cells);
  const keys = redisKeys(keyPrefix, () => names);
  return {
    inCell: (at) => keys.inCell(names[at] ?? cellNames[0]),
    cellsOf: (tenant) =>
      doTenantsMove || mayBeAnywhere.includes(tenant)
        ? [...names.keys()]
        : [names.indexOf(keys.home(tenant))],
  };
}

/** Two that may run as many responses as they like, and one that may run two at a time. */
export const tenants = { free: 'free', other: 'other', limited: 'limited' } as const;

/** Tenants of a crowd: one of the weight 3 in one cell, one of the weight 1 in all cells, and one in all cells with a limit of a minute. */
export const crowdTenants = { heavy: 'heavy', spread: 'spread', hurried: 'hurried' } as const;
export type TenantName =
  | (typeof tenants)[keyof typeof tenants]
  | (typeof crowdTenants)[keyof typeof crowdTenants];

/** The tenants whose responses are divided among the cells, where there are several. */
const mayBeAnywhere: readonly TenantName[] = [
  tenants.other,
  tenants.limited,
  crowdTenants.spread,
  crowdTenants.hurried,
];

/** Most responses of the hurried tenant that are accepted in a minute. */
export const mostInMinute = 45;

/** Most responses of the limited tenant that run at a time. */
export const mostRunning = 2;

/** Most responses of the narrow model that run at a time, over all workers and cells. */
export const mostNarrow = 1;

/** One whose responses run side by side, and one that runs one at a time over all workers. */
export const models = { wide: 'wide', narrow: 'narrow' } as const;

/** The model of a crowd, and how many of its responses run at a time. */
export const crowdModel = 'shared';
export const mostShared = 12;
export type ModelName = (typeof models)[keyof typeof models] | typeof crowdModel;
