import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const releaseScript = defineScript({
  transition: 'release',
  file: new URL('../../src/transitions/release.lua', import.meta.url),
  keys: ['record'],
  args: ['token', 'uncounted', 'postponed_by'],
});

/** An attempt in the hands of this process. */
export interface HeldAttempt {
  id: string;
  token: string;
}

export interface ReleaseOptions {
  /** Whether the attempt counts. */
  isCounted: boolean;
  /** Whether this process goes on hearing of requests for the end, until a worker claims the response. */
  staysReachable?: boolean;
}

/** Gives a response back unfinished. False when it was not held any more. */
export async function release(
  access: StoreAccess,
  { id, token }: HeldAttempt,
  { isCounted, channel }: { isCounted: boolean; channel: string | undefined },
): Promise<boolean> {
  const args = { token, uncounted: isCounted ? 0 : 1, postponed_by: channel ?? '' };
  return (await releaseScript(access.redis, { keys: keysOf(access, id), args })) === 1;
}
