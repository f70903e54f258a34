import { admissionFragments } from '@sluice/admission';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const queuePriorityScript = defineScript({
  by: 'rescue',
  file: new URL('../../src/reading/queue-priority.lua', import.meta.url),
  fragments: admissionFragments,
  keys: ['record', 'load'],
  args: [],
});

/**
 * The priority that the job of a response has by now, for one that was lost and is added again; undefined when it waits
 * outside of its queue.
 */
export async function queuePriority(access: StoreAccess, responseId: string): Promise<number | undefined> {
  const { cell, record } = keysOf(access, responseId);
  const reply = await queuePriorityScript(access.redis, { keys: { record, load: cell.load }, args: {} });
  return reply === null ? undefined : Number(reply);
}
