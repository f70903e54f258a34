import { createHash } from 'node:crypto';

/**
 * A cell is a part of the store that one primary holds: all keys that one script touches carry its name as their hash
 * tag. A name is one letter or digit, the first character behind the prefix of a response's id.
 */
export type Cell = string;

/** The only cell until an operator configures more. */
export const defaultCell: Cell = '0';

/** The cell of a response, which its id names. */
export function cellOf(responseId: string): Cell {
  const behindPrefix = responseId.indexOf('_') + 1;
  return responseId[behindPrefix] ?? defaultCell;
}

/**
 * The cell that a tenant's new responses go to.
 *
 * Rendezvous hashing: a cell that is added takes tenants from all others evenly, and no tenant moves between two that
 * stay (Thaler and Ravishankar, 1998).
 */
export function homeCell(tenant: string, cells: readonly Cell[]): Cell {
  let home = cells[0] ?? defaultCell;
  if (cells.length <= 1) return home;
  let highest = '';
  for (const cell of cells) {
    const score = createHash('sha256').update(`${cell}:${tenant}`).digest('hex');
    if (score > highest) [highest, home] = [score, cell];
  }
  return home;
}
