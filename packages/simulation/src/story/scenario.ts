import type { ModelName, TenantName } from '../service/names.ts';

/**
 * Everything that is decided before a world begins: who asks for what, what its upstreams do, and what goes wrong. Plain
 * data, so that a part of it can be left out to see whether the rest still fails.
 */
export interface Scenario {
  seed: number;
  apis: number;
  workers: number;
  keepsRecords: boolean;
  /** Whether nobody is told of what no replica has; false by default. */
  isReplicated?: boolean;
  /** How many cells the store has; 1 by default. */
  cells?: number;
  /** An operator changes the second cell so when all processes run; nothing by default. */
  cellChange?: CellChange;
  /** Whether the service has the tenants and the model of a crowd; false by default. */
  hasCrowd?: boolean;
  /** Whether each second api and worker is of a release that writes other records; false by default. */
  hasTwoReleases?: boolean;
  /** Whether each of two workers serves one of the models; false by default. */
  hasPools?: boolean;
  /** Whether the tenants have endpoints that are told of the ends of responses in the background; false by default. */
  hasWebhooks?: boolean;
  callers: readonly CallerPlan[];
  faults: readonly FaultPlan[];
  /** What operators do to queues; nothing by default. */
  operators?: readonly OperatorPlan[];
  /** The batches that tenants have run; none by default. */
  batches?: readonly BatchPlan[];
}

export type CellChange = 'add' | 'drain';

export const modes = ['synchronous', 'stream', 'background', 'background stream'] as const;
export type Mode = (typeof modes)[number];

/** A prompt, and the upstream's answers to it. */
export interface PromptPlan {
  /** Its prompt, too. */
  name: string;
  tenant: TenantName;
  model: ModelName;
  /** What each call of the upstream does, in order; the last one is repeated. */
  calls: readonly [CallPlan, ...CallPlan[]];
}

/** One response that somebody wants. */
export interface CallerPlan extends PromptPlan {
  atMs: number;
  mode: Mode;
  /** Comes with each try, so that any number of them make one response. */
  idempotencyKey: string | undefined;
  acts: readonly ActPlan[];
  /** The caller whose response it continues, once that has completed; none by default. It has the same tenant. */
  follows?: string;
  /** Whether its instructions are long, so that nobody holds them while they wait; false by default. */
  isLong?: boolean;
  /** How long it takes to read what it is sent at once, in milliseconds; 0 by default. */
  readMs?: number;
}

/** What a caller does besides waiting, so long after it began. */
export interface ActPlan {
  /** `leave`: goes and never comes back. `drop`: loses its connection, and comes back for the rest if it can. */
  kind: 'leave' | 'drop' | 'cancel';
  afterMs: number;
}

export type CallEnd =
  | 'finish'
  /** Ends without saying that it has finished. */
  | 'cut'
  /** Says no more, until it is ended. */
  | 'hang'
  /** Fails in a way that another call may mend. */
  | 'refused'
  | 'limited'
  | 'broken'
  /** Fails in a way that none does. */
  | 'fatal'
  /** Kills the process that runs it. */
  | 'crash';

/** One call of an upstream. */
export interface CallPlan {
  firstMs: number;
  betweenMs: number;
  tokens: number;
  /** How long a token is at least, in characters; 0 by default. */
  tokenLength?: number;
  end: CallEnd;
}

/** A file whose lines somebody has run. */
export interface BatchPlan {
  name: string;
  atMs: number;
  tenant: TenantName;
  /** Each by its name, which is its `custom_id`. */
  lines: readonly PromptPlan[];
  /** How long behind its creation it is cancelled; never by default. */
  cancelAfterMs?: number;
}

/** What an operator does to the queue of a model. */
export interface OperatorPlan {
  atMs: number;
  model: ModelName;
  /** How long it is paused; 0 for a queue that stays open. */
  pausesForMs: number;
  /** Whether all that waits in it is cancelled, behind the pause if there is one. */
  drains: boolean;
}

/** What goes wrong. */
export type FaultPlan = StoreFault | ProcessFault | DiskFault;

/** The disk takes nothing more. */
export type DiskFault = { kind: 'full disk'; atMs: number; forMs: number };

/** `cell`: that of the store which it befalls; the first one by default. */
export type StoreFault = { cell?: number } & StoreHarm;

export type StoreHarm =
  /** What goes to the store and comes from it takes tens of milliseconds. */
  | { kind: 'slow'; atMs: number; forMs: number }
  /** The store does nothing, has no memory left, or is made a replica that has lost its primary. */
  | { kind: 'freeze' | 'full' | 'replica'; atMs: number; forMs: number }
  /** Nothing reaches the replica of the store. */
  | { kind: 'lag'; atMs: number; forMs: number }
  /** The store comes back without what it was told in this time, as after a failover that lost writes. */
  | { kind: 'forget'; atMs: number; forMs: number }
  /** The store is emptied. */
  | { kind: 'empty'; atMs: number; forMs: 0 }
  /** The lease of the rescue is taken away again and again, so that several processes lead at once. */
  | { kind: 'two rescuers'; atMs: number; forMs: number };

export type ProcessFault =
  /**
   * A process is ended by SIGKILL and started again. `messages` more pass before, of those it sends and gets. A process of
   * suspects, such as `worker-0.1`, need not be there yet, and is not started again.
   */
  | { kind: 'kill'; atMs: number; process: string; messages: number; downMs: number }
  /** A process is told to stop, as by SIGTERM, and started again when it has. */
  | { kind: 'stop'; atMs: number; process: string; downMs: number }
  /** A reply is lost: its connection is cut when it arrives. */
  | { kind: 'lose a reply'; atMs: number; process: string; messages: number }
  /** A process stands still. */
  | { kind: 'pause'; atMs: number; process: string; forMs: number }
  /** The clock of a process is set. */
  | { kind: 'clock'; atMs: number; process: string; byMs: number }
  /** One of its connections, by a number, is cut, loses the replies to what it sends, or falls silent. */
  | {
      kind: 'cut' | 'lose replies' | 'silence';
      atMs: number;
      process: string;
      connection: number;
      messages: number;
    };
