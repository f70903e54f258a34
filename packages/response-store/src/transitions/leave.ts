import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { type EndRequest, parseEndRequest } from './end-requests.ts';

const leaveScript = defineScript({
  by: 'caller',
  writes: ['watchers', 'grace_ms', 'left_at', 'cancel'],
  file: new URL('../../src/transitions/leave.lua', import.meta.url),
  fragments: fragments('clock', 'watchers', 'absence', 'ask-for-end'),
  keys: ['record'],
  args: ['lease', 'grace_ms', 'reason'],
  numbers: ['grace_ms'],
});

/**
 * Takes an api process off a response whose caller is gone.
 *
 * When nobody else is attached, the response is not in the background and its grace is over, its end is asked for, and
 * the worker that runs it is told at once. `graceMs` can lengthen the grace, never shorten it.
 */
export async function leave(
  access: StoreAccess,
  responseId: string,
  { lease, graceMs }: { lease: string; graceMs: number },
): Promise<EndRequest> {
  const input = {
    keys: keysOf(access, responseId),
    args: { lease, grace_ms: graceMs, reason: 'caller_left' },
  };
  return parseEndRequest(await leaveScript(access.redis, input));
}
