import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const releaseScript = defineScript({
  transition: 'release',
  file: new URL('../../src/transitions/release.lua', import.meta.url),
  keys: ['record'],
  args: ['token'],
});

/** Gives a response back unfinished; the attempt is not counted. False when the lease was lost already. */
export async function release(access: StoreAccess, responseId: string, token: string): Promise<boolean> {
  return (await releaseScript(access.redis, { keys: keysOf(access, responseId), args: { token } })) === 1;
}
