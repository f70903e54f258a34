import type { Cell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const leadScript = defineScript({
  by: 'rescue',
  file: new URL('../../src/rescue/lead.lua', import.meta.url),
  keys: ['rescuer'],
  args: ['process', 'lease_ms'],
});

/**
 * Takes or renews the lease of the rescue in a cell. One process holds it until it stops renewing, so its place in the
 * list of open responses is its own. False while another process holds it.
 */
export async function lead(
  { redis, keys }: StoreAccess,
  cell: Cell,
  { process, leaseMs }: { process: string; leaseMs: number },
): Promise<boolean> {
  const { rescuer } = keys.inCell(cell);
  return (await leadScript(redis, { keys: { rescuer }, args: { process, lease_ms: leaseMs } })) === 1;
}
