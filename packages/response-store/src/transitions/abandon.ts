import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { type EndRequest, parseEndRequest } from './end-requests.ts';

const abandonScript = defineScript({
  by: 'caller',
  writes: ['cancel'],
  file: new URL('../../src/transitions/abandon.lua', import.meta.url),
  fragments: fragments('clock', 'ask-for-end'),
  keys: ['record', 'large'],
  args: ['deadline'],
  numbers: ['deadline'],
});

/** The outcome of taking back a refused response. */
export type Abandonment =
  /** Its accept has not arrived and still may, until its deadline: ask again. */
  | { kind: 'undecided' }
  /** `hasBegun`: a worker has begun to run it. */
  | (EndRequest & { hasBegun: boolean });

/**
 * Takes back what may have been accepted although its caller was refused: nothing of it runs on, unless somebody else
 * was told that it is accepted. Repeat it until it is answered with anything but `undecided`; it changes nothing twice.
 *
 * @param deadline the deadline of the accept.
 */
export async function abandon(
  access: StoreAccess,
  responseId: string,
  deadline: number,
): Promise<Abandonment> {
  const reply = await abandonScript(access.redis, { keys: keysOf(access, responseId), args: { deadline } });
  const [kind, , startedAt = ''] = textReply(reply);
  if (kind === 'undecided') return { kind };
  return { ...parseEndRequest(reply), hasBegun: startedAt !== '' };
}
