import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const releaseScript = defineScript({
  transition: 'release',
  file: new URL('../../src/transitions/release.lua', import.meta.url),
  keys: ['record'],
  args: ['token', 'uncounted'],
});

/** An attempt in the hands of this process. */
export interface HeldAttempt {
  id: string;
  token: string;
}

/** Gives a response back unfinished. False when it was not held any more. */
export async function release(
  access: StoreAccess,
  { id, token }: HeldAttempt,
  { isCounted }: { isCounted: boolean },
): Promise<boolean> {
  const args = { token, uncounted: isCounted ? 0 : 1 };
  return (await releaseScript(access.redis, { keys: keysOf(access, id), args })) === 1;
}
