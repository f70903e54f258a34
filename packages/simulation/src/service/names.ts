import { defaultCell, redisKeys } from '@sluice/response-store';

/** Names that the settings, the callers and the checks have in common. */

export const keyPrefix = 'sim';
/** The keys of its one cell, as the service names them. */
export const cellKeys = redisKeys(keyPrefix).inCell(defaultCell);

/** Two that may run as many responses as they like, and one that may run two at a time. */
export const tenants = { free: 'free', other: 'other', limited: 'limited' } as const;
export type TenantName = (typeof tenants)[keyof typeof tenants];

/** Most responses of the limited tenant that run at a time. */
export const mostRunning = 2;

/** One whose responses run side by side, and one that runs one at a time over all workers. */
export const models = { wide: 'wide', narrow: 'narrow' } as const;
export type ModelName = (typeof models)[keyof typeof models];
