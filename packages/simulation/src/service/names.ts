import { type CellKeys, redisKeys } from '@sluice/response-store';

/** Names that the settings, the callers and the checks have in common. */

export const keyPrefix = 'sim';

/** The cells of a service that has two; one has the first of them alone. Each is the home of some tenants. */
export const cellNames = ['0', 's'] as const;

/** The keys of the service, where it has so many cells. */
export function keysOf(cells: number): {
  inCell: (at: number) => CellKeys;
  homeOf: (tenant: TenantName) => number;
} {
  const names: readonly string[] = cellNames.slice(0, cells);
  const keys = redisKeys(keyPrefix, names);
  return {
    inCell: (at) => keys.inCell(names[at] ?? cellNames[0]),
    homeOf: (tenant) => names.indexOf(keys.home(tenant)),
  };
}

/** Two that may run as many responses as they like, and one that may run two at a time. */
export const tenants = { free: 'free', other: 'other', limited: 'limited' } as const;
export type TenantName = (typeof tenants)[keyof typeof tenants];

/** Most responses of the limited tenant that run at a time. */
export const mostRunning = 2;

/** Most responses of the narrow model that run at a time, over all workers and cells. */
export const mostNarrow = 1;

/** One whose responses run side by side, and one that runs one at a time over all workers. */
export const models = { wide: 'wide', narrow: 'narrow' } as const;
export type ModelName = (typeof models)[keyof typeof models];
