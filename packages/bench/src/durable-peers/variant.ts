import type { Child } from '../child-process.ts';
import type { Target } from '../load/order.ts';
import type { Measurement } from '../measure.ts';
import type { Durability } from './durable-peer.ts';

/** In the order of the page. */
export const durabilities: readonly Durability[] = ['soon', 'at once'];

/** One contestant with one setting of its store. */
export interface Variant {
  contestant: string;
  durability: Durability;
  setting: string;
  prepare: () => Promise<unknown>;
  whole: Target;
  background: Target;
  usesRedis: boolean;
  processes: ReadonlyMap<string, Pick<Child, 'pid'>>;
}

/** A round. Those of a burst last until everything that was accepted has run. */
export interface Round extends Measurement {
  /** Until the upstream was called for the last request. */
  doneMs: number;
}

export type Results = ReadonlyMap<Variant, Round[]>;
