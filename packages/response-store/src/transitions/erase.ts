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
  args: ['id', 'reader', 'with_key'],
});

/**
 * Takes away everything of a response, for good. A worker that still runs it is refused from then on. Its Idempotency-Key goes on standing for a
 * response that is gone, unless it goes as well (`withKey`).
 */
export async function erase(
  access: StoreAccess,
  responseId: string,
  { tenant, withKey = false }: { tenant: string; withKey?: boolean },
): Promise<void> {
  await run(access, responseId, { tenant, reader: '', withKey });
}

/**
 * Takes the api process that holds `lease` off a response, and everything of the response away with its last reader, as `erase` does.
 *
 * @returns whether it is gone.
 */
export async function eraseAfterReader(
  access: StoreAccess,
  responseId: string,
  { tenant, lease, withKey }: { tenant: string; lease: string; withKey: boolean },
): Promise<boolean> {
  return run(access, responseId, { tenant, reader: lease, withKey });
}

async function run(
  access: StoreAccess,
  id: string,
  { tenant, reader, withKey }: { tenant: string; reader: string; withKey: boolean },
): Promise<boolean> {
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
    args: { id, reader, with_key: withKey ? 1 : '' },
  });
  const [first, ...letIn] = Array.isArray(taken) ? textReply(taken) : [String(taken)];
  access.onLetIn?.(parseLetIn(letIn));
  return first === '1';
}
