import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const noteJobScript = defineScript({
  by: 'caller',
  writes: ['enqueued'],
  file: new URL('../../src/transitions/note-job.lua', import.meta.url),
  keys: ['record', 'jobs'],
  args: ['id'],
});

/**
 * Notes that the response has its job, so that the rescue can tell a job that was lost from one that was never added.
 * Changes nothing when the record is gone.
 *
 * @param jobs where the waiting jobs of its queue are; see `JobOrder`.
 * @returns how many of them are before it; undefined when it is not among them, or nobody asked.
 */
export async function noteJob(
  access: StoreAccess,
  responseId: string,
  jobs?: string,
): Promise<number | undefined> {
  const { record } = keysOf(access, responseId);
  const input = { keys: { record, jobs: jobs ?? record }, args: { id: responseId } };
  const ahead = Number(await noteJobScript(access.redis, input));
  return ahead < 0 ? undefined : ahead;
}
