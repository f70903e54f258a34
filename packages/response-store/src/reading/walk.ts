import { isResponseId } from '@sluice/contract';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';

const walkScript = defineScript({
  by: 'attempt',
  file: new URL('../../src/reading/walk.lua', import.meta.url),
  keys: ['record'],
  args: ['record_prefix', 'tenant', 'id', 'count', 'short_bytes'],
  numbers: ['count', 'short_bytes'],
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
  /** The input and the end in its record, where they came along. */
  content?: TurnContent;
}

/** JSON of an input and an end; empty for one that is not in the record. */
export interface TurnContent {
  input: string;
  end: string;
}

export interface Walk {
  /** The newest first. */
  turns: Turn[];
  /** The id behind the last turn; undefined when there is none. */
  next: string | undefined;
}

/**
 * Looks at a response of a tenant and at what it continues from. Their content comes along when all of it has at most
 * `shortBytes` bytes, by default none. Fewer turns than `count`, and a `next`, mean that the next one is gone, or is none of this
 * tenant's.
 */
export async function walk(
  access: StoreAccess,
  {
    responseId,
    tenant,
    count,
    shortBytes = 0,
  }: { responseId: string; tenant: string; count: number; shortBytes?: number },
): Promise<Walk> {
  if (!isResponseId(responseId)) return { turns: [], next: responseId };
  const { cell, record } = keysOf(access, responseId);
  const args = { record_prefix: cell.record(''), tenant, id: responseId, count, short_bytes: shortBytes };
  const values = textReply(await walkScript(access.redis, { keys: { record }, args }));
  const [next, isShort] = values;
  const hasContent = isShort === '1';
  const turns: Turn[] = [];
  for (let at = 2; at < values.length; at += hasContent ? 7 : 5) {
    const largeBytes = Number(values[at + 2]);
    const requestAhead = Number(values[at + 3]);
    turns.push({
      responseId: values[at] ?? '',
      inputBytes: Number(values[at + 1]) + largeBytes - requestAhead,
      largeBytes,
      requestAhead,
      endBytes: Number(values[at + 4]),
      ...(hasContent && { content: { input: values[at + 5] ?? '', end: values[at + 6] ?? '' } }),
    });
  }
  return { turns, next: next === '' ? undefined : next };
}
