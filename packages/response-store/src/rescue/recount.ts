import type { Cell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const recountScript = defineScript({
  by: 'rescue',
  file: new URL('../../src/rescue/recount.lua', import.meta.url),
  keys: ['open', 'load'],
  args: ['record_prefix', 'most'],
  numbers: ['most'],
});

/** Most open responses that are counted anew in one script: some 20 ms of everybody's time. */
const most = 10_000;

/**
 * Counts the waiting responses of a cell anew, after a record has vanished without an end. False when there are too many
 * open ones to count at once; then it is tried again later.
 */
export async function recount({ redis, keys }: StoreAccess, cell: Cell): Promise<boolean> {
  const ofCell = keys.inCell(cell);
  const { open, load } = ofCell;
  const args = { record_prefix: ofCell.record(''), most };
  return (await recountScript(redis, { keys: { open, load }, args })) === 1;
}
