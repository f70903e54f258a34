import { defaultCell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';

/** A process that has told nothing for so long has no calls under way, in milliseconds. A live one tells twice a second. */
export const callsLapseMs = 3_000;

const tellCallsScript = defineScript({
  by: 'attempt',
  file: new URL('../../src/server-calls/tell-calls.lua', import.meta.url),
  fragments: fragments('clock'),
  keys: ['server_calls'],
  args: ['process', 'calls', 'lapse_ms'],
  numbers: ['lapse_ms'],
});

/**
 * Tells how many calls of a process are under way, by the key of their server, and returns how many of all other processes
 * are. The calls of a process that died lapse. Telling twice changes nothing.
 */
export async function tellCalls(
  { redis, keys }: Pick<StoreAccess, 'redis' | 'keys'>,
  { process, calls }: { process: string; calls: ReadonlyMap<string, number> },
): Promise<Map<string, number>> {
  const reply = await tellCallsScript(redis, {
    keys: { server_calls: keys.inCell(keys.cells[0] ?? defaultCell).serverCalls },
    args: { process, calls: JSON.stringify([...calls]), lapse_ms: callsLapseMs },
  });
  const sums = new Map<string, number>();
  for (const told of textReply(reply)) {
    for (const [server, count] of parseCalls(told ?? '')) sums.set(server, (sums.get(server) ?? 0) + count);
  }
  return sums;
}

/** Another release may have told them; whatever is not understood counts for nothing. */
function parseCalls(told: string): [string, number][] {
  const found: [string, number][] = [];
  const entries: unknown = JSON.parse(told);
  for (const entry of Array.isArray(entries) ? entries : []) {
    const [server, count]: unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof server === 'string' && typeof count === 'number' && count > 0) found.push([server, count]);
  }
  return found;
}
