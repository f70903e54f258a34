import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { type EndRequest, parseEndRequest } from './end-requests.ts';

const abandonScript = defineScript({
  transition: 'abandon',
  file: new URL('../../src/transitions/abandon.lua', import.meta.url),
  fragments: fragments('ask-for-end'),
  keys: ['record', 'large'],
  args: [],
});

/**
 * Takes back what may have been accepted although its caller was refused: nothing of it runs on, unless somebody else
 * was told that it is accepted. Repeat it until it is answered; it changes nothing twice.
 */
export async function abandon(access: StoreAccess, responseId: string): Promise<EndRequest> {
  const input = { keys: keysOf(access, responseId), args: {} };
  return parseEndRequest(await abandonScript(access.redis, input));
}
