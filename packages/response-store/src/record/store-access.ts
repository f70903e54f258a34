import type { CellKeys, RedisKeys } from './keys.ts';
import type { RedisCommands } from './connection.ts';

/** What every step of the store works with. */
export interface StoreAccess {
  redis: RedisCommands;
  keys: RedisKeys;
}

/** The keys of a response in its cell. */
export function keysOf(
  { keys }: Pick<StoreAccess, 'keys'>,
  responseId: string,
): {
  cell: CellKeys;
  record: string;
  log: string;
  input: string;
} {
  const cell = keys.of(responseId);
  return {
    cell,
    record: cell.record(responseId),
    log: cell.log(responseId),
    input: cell.input(responseId),
  };
}
