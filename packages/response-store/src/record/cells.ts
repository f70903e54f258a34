import { createHash } from 'node:crypto';

/**
 * A cell is a part of the store that one primary holds: all keys that one script touches carry its name as their hash
 * tag. A name is one letter or digit, the first character behind the prefix of a response's id.
 */
export type Cell = string;

/** The cell of an address that names none: the only one until an operator configures more. */
export const defaultCell: Cell = '0';

/** The cell of a response, which its id names. */
export function cellOf(responseId: string): Cell {
  const behindPrefix = responseId.indexOf('_') + 1;
  return responseId[behindPrefix] ?? defaultCell;
}

/**
 * The cells in the order in which something prefers them: a tenant those for its responses.
 *
 * Rendezvous hashing: a cell that is added takes the first place from all others evenly, and two that stay keep their order
 * (Thaler and Ravishankar, 1998).
 */
export function preferredCells(name: string, cells: readonly Cell[]): Cell[] {
  if (cells.length <= 1) return [...cells];
  const scored = cells.map((cell) => ({
    cell,
    score: createHash('sha256').update(`${cell}:${name}`).digest('hex'),
  }));
  return scored.toSorted((one, other) => (one.score < other.score ? 1 : -1)).map(({ cell }) => cell);
}

/** The cell that a tenant's new responses go to. */
export function homeCell(tenant: string, cells: readonly Cell[]): Cell {
  return preferredCells(tenant, cells)[0] ?? defaultCell;
}
