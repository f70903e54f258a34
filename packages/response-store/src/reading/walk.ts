import { responseIdSchema } from '@sluice/contract';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';

const walkScript = defineScript({
  by: 'attempt',
  file: new URL('../../src/reading/walk.lua', import.meta.url),
  keys: ['record'],
  args: ['record_prefix', 'tenant', 'id', 'count'],
  numbers: ['count'],
});

/** Where the input and the output of a stored response are, and how long they are, in bytes. */
export interface Turn {
  responseId: string;
  inputBytes: number;
  /** How long its large value is and how much of that is the request, when the input is there. */
  largeBytes: number;
  requestAhead: number;
  /** The end as `printEnd` made it. */
  endBytes: number;
}

export interface Walk {
  /** The newest first. */
  turns: Turn[];
  /** The id behind the last turn; undefined when there is none. */
  next: string | undefined;
}

/**
 * Looks at a response of a tenant and at what it continues from, without reading any of it. Fewer turns than `count`, and
 * a `next`, mean that the next one is gone, or is none of this tenant's.
 */
export async function walk(
  access: StoreAccess,
  { responseId, tenant, count }: { responseId: string; tenant: string; count: number },
): Promise<Walk> {
  if (!responseIdSchema.safeParse(responseId).success) return { turns: [], next: responseId };
  const { cell, record } = keysOf(access, responseId);
  const args = { record_prefix: cell.record(''), tenant, id: responseId, count };
  const [next, ...values] = textReply(await walkScript(access.redis, { keys: { record }, args }));
  const turns: Turn[] = [];
  for (let at = 0; at < values.length; at += 5) {
    const [inline, largeBytes, requestAhead, endBytes] = values.slice(at + 1, at + 5).map(Number);
    const [large, ahead] = [largeBytes ?? 0, requestAhead ?? 0];
    turns.push({
      responseId: values[at] ?? '',
      inputBytes: (inline ?? 0) + large - ahead,
      largeBytes: large,
      requestAhead: ahead,
      endBytes: endBytes ?? 0,
    });
  }
  return { turns, next: next === '' ? undefined : next };
}
