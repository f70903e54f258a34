import { admissionFragments } from '@sluice/admission';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { parseLetIn } from './let-in.ts';

const standInLineScript = defineScript({
  by: 'caller',
  writes: ['tag'],
  file: new URL('../../src/transitions/stand-in-line.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('let-in')],
  keys: ['record', 'load'],
  args: ['id'],
});

/**
 * Lets a response wait for a place of its tenant. Its job must wait already, where no worker takes it, because the turn may
 * be its own at once: then it is among those that `onLetIn` is told of.
 *
 * False when it has ended, or is gone. Whoever has ended it may have looked for its job before that was there, so it is to be removed.
 */
export async function standInLine(access: StoreAccess, responseId: string): Promise<boolean> {
  const { cell, record } = keysOf(access, responseId);
  const keys = { record, load: cell.load };
  const reply = await standInLineScript(access.redis, { keys, args: { id: responseId } });
  if (reply === 0) return false;
  access.onLetIn?.(parseLetIn(textReply(reply)));
  return true;
}
