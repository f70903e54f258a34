import type { Response } from '@sluice/contract';
import {
  type CallerStores,
  type FoundEnd,
  type KnownEnd,
  type LongTexts,
  parseEnd,
  type ResponseRecord,
  responseOf,
} from '@sluice/response-store';
import type { AcceptedResponse } from './accepted-response.ts';
import type { Caller } from './caller.ts';
import { responseGone, touchLost, wholeResponse } from './whole-response.ts';

/** A response on its way to a caller. */
export interface Answer {
  response: Response;
  /** The texts that the marks in a long answer stand for. */
  texts?: LongTexts | undefined;
  /** Frees the memory of a long one; called once its reader has it. */
  free: () => void;
}

/** An answer for which nothing is held. */
export function shortAnswer(response: Response): Answer {
  return { response, free: () => undefined };
}

/** Makes an answer of a record, once there is room for its end if that is long. */
export async function answerOf(
  store: Pick<CallerStores, 'openEnd'>,
  record: ResponseRecord,
  hold: Parameters<CallerStores['openEnd']>[1]['hold'],
): Promise<Answer> {
  if (record.longEndBytes === 0) return shortAnswer(responseOf(record));
  return withLongEnd(store, record.id, { bytes: record.longEndBytes, hold }, ({ end }) =>
    Promise.resolve(responseOf(record, end)),
  );
}

/** Makes the answer of a caller that has waited for an end, once there is room for that if it is long. */
export async function wholeAnswer(
  store: Pick<CallerStores, 'openEnd' | 'wasAskedToEnd'>,
  found: FoundEnd,
  { caller: { hold }, accepted }: { caller: Pick<Caller, 'hold'>; accepted: AcceptedResponse },
): Promise<Answer> {
  const make = async ({ end }: KnownEnd) => {
    if (end.status === 'cancelled' && !(await store.wasAskedToEnd(accepted.id))) throw touchLost();
    return wholeResponse(await accepted.whole(), end);
  };
  if (found.kind === 'read') return shortAnswer(await make(parseEnd(found.json)));
  return withLongEnd(store, accepted.id, { bytes: found.bytes, hold }, make);
}

/** Makes an answer of a long end. */
async function withLongEnd(
  store: Pick<CallerStores, 'openEnd'>,
  responseId: string,
  reading: Parameters<CallerStores['openEnd']>[1],
  make: (known: KnownEnd) => Promise<Response>,
): Promise<Answer> {
  const open = await store.openEnd(responseId, reading);
  if (!open) throw responseGone();
  try {
    return { response: await make(open), texts: open.texts, free: open.close };
  } catch (error) {
    open.close();
    throw error;
  }
}
