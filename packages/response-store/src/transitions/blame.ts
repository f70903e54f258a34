import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { mostLosses } from './claim.ts';

const blameScript = defineScript({
  by: 'attempt',
  writes: ['losses'],
  file: new URL('../../src/transitions/blame.lua', import.meta.url),
  keys: ['record'],
  args: ['most_losses'],
  numbers: ['most_losses'],
});

/**
 * Says that a response's process died while it ran nothing else, so that the response is not run again. False when the
 * record does not say that it ran.
 */
export async function blame(access: StoreAccess, responseId: string): Promise<boolean> {
  const args = { most_losses: mostLosses };
  return (await blameScript(access.redis, { keys: keysOf(access, responseId), args })) === 1;
}
