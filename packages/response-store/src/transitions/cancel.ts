import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { type EndRequest, parseEndRequest } from './end-requests.ts';

const cancelScript = defineScript({
  by: 'caller',
  writes: ['cancel'],
  file: new URL('../../src/transitions/cancel.lua', import.meta.url),
  fragments: fragments('ask-for-end'),
  keys: ['record'],
  args: ['reason', 'unless_held'],
});

/** Why somebody asks for the end of a response. */
export type CancelReason = 'requested' | 'timed_out' | 'deleted';

export interface CancelOptions {
  /**
   * Whether one is left alone that a worker has. One that began and was given back has none, and nor has one whose worker died: it
   * waits in its queue like one that never began.
   */
  unlessHeld?: boolean;
}

/** Asks for the end of a response, whether or not anybody waits for it. A second or late call changes nothing. */
export async function cancel(
  access: StoreAccess,
  responseId: string,
  reason: CancelReason,
  { unlessHeld = false }: CancelOptions = {},
): Promise<EndRequest> {
  const input = { keys: keysOf(access, responseId), args: { reason, unless_held: unlessHeld ? 1 : '' } };
  return parseEndRequest(await cancelScript(access.redis, input));
}
