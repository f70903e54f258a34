import type { LargeAccess } from './store-access.ts';

/** How long a value stays that no script has taken over, in milliseconds. Each piece of it begins that time anew. */
export const writtenMs = 60_000;

/** An event that is too long to travel inside a script, and has a key of its own. Its mark stands for it in the log. */
export interface LongEvent {
  sequenceNumber: number;
  mark: string;
  json: Buffer;
}

/** The mark of a long event of an attempt. See long-events.lua, which reads it. */
export function markOf(token: string, json: Buffer): string {
  return `+${token} ${json.length}`;
}

/**
 * Writes a long event to where the scripts find it, in pieces: an append that brings 15 MB holds up everybody for a tenth of
 * a second. An attempt that was superseded has written it for nobody, and it expires.
 */
export async function writeLongEvent(
  { ends, keys }: Pick<LargeAccess, 'ends' | 'keys'>,
  { responseId, token }: { responseId: string; token: string },
  { sequenceNumber, json }: Pick<LongEvent, 'sequenceNumber' | 'json'>,
): Promise<void> {
  await ends.write(keys.of(responseId).longEvent(responseId, token, sequenceNumber), [json], writtenMs);
}

/** Whether the log has the mark of a long event in place of its JSON. */
export function isMark(logged: string): boolean {
  return logged.startsWith('+');
}

/** Reads the event behind a mark; undefined when it is gone, as the log is soon. */
export async function readLongEvent(
  { ends, keys }: Pick<LargeAccess, 'ends' | 'keys'>,
  responseId: string,
  { sequenceNumber, mark }: Pick<LongEvent, 'sequenceNumber' | 'mark'>,
): Promise<Buffer | undefined> {
  const [token = '', bytes] = mark.slice(1).split(' ');
  return ends.read(keys.of(responseId).longEvent(responseId, token, sequenceNumber), 0, Number(bytes));
}
