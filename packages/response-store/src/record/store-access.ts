import type { ResponseEnd } from '@sluice/contract';
import type { LargeValues } from '../large-values.ts';
import type { CellKeys, RedisKeys } from './keys.ts';
import type { RedisCommands } from './connection.ts';

/** The connections and listeners that every step of the store works with. */
export interface StoreAccess {
  redis: RedisCommands;
  keys: RedisKeys;
  /** Is told of responses whose jobs may go into their queues now; see `LetIn`. */
  onLetIn?: ((letIn: readonly LetIn[]) => void) | undefined;
  /** The ends that are written into the outbox; undefined when nobody reads it, and none is. */
  outbox?: OutboxWriting | undefined;
  /** Is told of each response that was ended here without a worker. */
  onQueuedEnd?: ((ended: QueuedEnd) => void) | undefined;
}

/** What the readers of the outbox need of it. */
export interface OutboxWriting {
  /** Whether they are told of every end, or of those in the background alone, for which nobody waits. */
  ends: 'all' | 'background';
  /** How many ends wait there at most. */
  most: number;
  /** The member of the metadata of a response that its end tells; none by default. */
  label?: string | undefined;
}

/** The end of a response that no worker had taken. Two who write it at once may both be told. */
export interface QueuedEnd {
  responseId: string;
  tenant: string;
  model: string;
  end: ResponseEnd;
}

/**
 * A response of a tenant that may only run so many at a time: it has waited outside of its queue, and its job is to go in
 * now. The rescue moves the job if the process that was told dies before it does.
 */
export interface LetIn {
  responseId: string;
  queue: string;
  priority: number;
}

/** The same for steps that read or write large values. */
export interface LargeAccess extends StoreAccess {
  large: LargeValues;
  /** For ends of responses that are too long for the connection of commands. */
  ends: LargeValues;
}

/** The keys of a response in its cell. */
export function keysOf(
  { keys }: Pick<StoreAccess, 'keys'>,
  responseId: string,
): {
  cell: CellKeys;
  record: string;
  log: string;
  large: string;
  end: string;
} {
  const cell = keys.of(responseId);
  return {
    cell,
    record: cell.record(responseId),
    log: cell.log(responseId),
    large: cell.large(responseId),
    end: cell.end(responseId),
  };
}
