import { z } from 'zod';

/** A part of the store with a primary of its own. */
export const cellRowSchema = z.object({
  cell: z.string(),
  /** Without its password; null for a cell that this process has no address of. */
  address: z.string().nullable(),
  /** Whether REDIS_URL names it, or an operator has added it while the service ran. */
  origin: z.enum(['settings', 'stored']).nullable(),
  /** `joining`: added, and not every process can reach it yet. `opening`: takes new responses in some seconds. `away`: its Redis does not answer. `unknown`: it was there, and has no address. */
  state: z.enum(['open', 'opening', 'draining', 'joining', 'away', 'unknown']),
  /** Responses without an end, and those of them that wait; null where nobody can tell. */
  open: z.int().min(0).nullable(),
  waiting: z.int().min(0).nullable(),
  used_memory_bytes: z.int().min(0).nullable(),
  /** When it may go, in ISO 8601; null while it takes new responses. */
  may_go_at: z.string().nullable(),
  /** Processes that have not reached it yet. */
  waits_for: z.array(z.string()),
});
export type CellRow = z.output<typeof cellRowSchema>;

export const cellListSchema = z.object({ object: z.literal('list'), data: z.array(cellRowSchema) });
export type CellList = z.output<typeof cellListSchema>;

export const addCellSchema = z.strictObject({
  /** As it would stand in REDIS_URL. Without `cell=` the cell gets the next free name. */
  address: z.string().min(1).max(2_000),
});

/** A change of a cell. It holds in every process within ten seconds. */
export const changedCellSchema = z.object({
  object: z.literal('cell'),
  cell: z.string(),
  change: z.enum(['added', 'drained', 'opened', 'removed']),
});
export type ChangedCell = z.output<typeof changedCellSchema>;
