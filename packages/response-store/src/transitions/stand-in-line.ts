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
 */
export async function standInLine(access: StoreAccess, responseId: string): Promise<void> {
  const { cell, record } = keysOf(access, responseId);
  const keys = { record, load: cell.load };
  const reply = await standInLineScript(access.redis, { keys, args: { id: responseId } });
  access.onLetIn?.(parseLetIn(textReply(reply)));
}
