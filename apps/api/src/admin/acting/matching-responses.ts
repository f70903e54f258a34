import type { ResponseFilter } from '@sluice/contract/admin';

/** Finds the responses of all tenants that match a filter. */
export interface ResponseIndex {
  count(filter: ResponseFilter): Promise<number>;
  /** Their ids, in batches. */
  ids(filter: ResponseFilter): AsyncIterable<string[]>;
}
