import { admissionFragments } from '@sluice/admission';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { parseLetIn } from './let-in.ts';

const eraseScript = defineScript({
  by: 'caller',
  writes: ['watchers', 'tag'],
  file: new URL('../../src/transitions/erase.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('clock', 'watchers', 'let-in')],
  keys: ['record', 'log', 'large', 'long_end', 'open', 'load', 'stored'],
  args: ['id', 'reader'],
});

/** Takes away everything of a response, for good. A worker that still runs it is refused from then on. */
export async function erase(access: StoreAccess, responseId: string, tenant: string): Promise<void> {
  await run(access, responseId, tenant, '');
}

/**
 * Takes the api process that holds `lease` off a response, and everything of the response away with its last reader.
 *
 * @returns whether it is gone.
 */
export async function eraseAfterReader(
  access: StoreAccess,
  responseId: string,
  { tenant, lease }: { tenant: string; lease: string },
): Promise<boolean> {
  return run(access, responseId, tenant, lease);
}

async function run(access: StoreAccess, id: string, tenant: string, reader: string): Promise<boolean> {
  const { cell, record, log, large, end } = keysOf(access, id);
  const taken = await eraseScript(access.redis, {
    keys: {
      record,
      log,
      large,
      long_end: end,
      open: cell.open,
      load: cell.load,
      stored: cell.stored(tenant),
    },
    args: { id, reader },
  });
  const [first, ...letIn] = Array.isArray(taken) ? textReply(taken) : [String(taken)];
  access.onLetIn?.(parseLetIn(letIn));
  return first === '1';
}
