import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';

const attachScript = defineScript({
  by: 'caller',
  writes: ['watchers', 'followed', 'left_at'],
  file: new URL('../../src/transitions/attach.lua', import.meta.url),
  fragments: fragments('watchers'),
  keys: ['record'],
  args: ['lease'],
});

/**
 * Makes an api process a caller of a response: what is appended is published to it, and while its lease lives the
 * response is wanted. False when there is no such response, another release wrote it, or it is taken back (see `abandon`).
 */
export async function attach(access: StoreAccess, responseId: string, lease: string): Promise<boolean> {
  const status = await attachScript(access.redis, { keys: keysOf(access, responseId), args: { lease } });
  return status !== null;
}
