import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const noteJobScript = defineScript({
  by: 'caller',
  writes: ['enqueued'],
  file: new URL('../../src/transitions/note-job.lua', import.meta.url),
  keys: ['record'],
  args: [],
});

/**
 * Notes that the response has its job, so that the rescue can tell a job that was lost from one that was never added.
 * Changes nothing when the record is gone.
 */
export async function noteJob(access: StoreAccess, responseId: string): Promise<void> {
  await noteJobScript(access.redis, { keys: keysOf(access, responseId), args: {} });
}
