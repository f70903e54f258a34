import type { Child } from '../child-process.ts';
import type { Installable } from '../installs.ts';
import type { Target } from '../load/order.ts';

/** Where a peer runs. */
export interface PeerSurroundings {
  upstreamUrl: string;
  /** How many requests its worker runs at a time, where that can be set. */
  slots: number;
  /** A folder for its data. */
  directory: string;
}

/** When a step is on disk: before anybody is told of it, or within a second or so after. */
export type Durability = 'at once' | 'soon';

/** Something that accepts a request durably, runs it once by a worker, and answers a caller who waits for it. */
export interface DurablePeer extends Installable {
  start: (surroundings: PeerSurroundings) => Promise<RunningPeer>;
}

export interface RunningPeer {
  /** The program behind it that keeps what was accepted, with its version. */
  store: string;
  /** How it can write to disk, and the setting that says so. */
  settings: ReadonlyMap<Durability, string>;
  /** Makes it write as the setting says, from the next request on. */
  use: (durability: Durability) => Promise<void>;
  /** A request whose caller waits for the answer. */
  whole: Target;
  /** One whose caller is told that it was accepted. */
  background: Target;
  /** `api`, `worker`, `server` and `store`, as far as they are processes of their own. */
  processes: ReadonlyMap<string, Pick<Child, 'pid'>>;
  stop: () => Promise<void>;
}
