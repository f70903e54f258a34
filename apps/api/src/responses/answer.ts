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
import { ReaderRoom } from './reader-room.ts';
import { responseGone, touchLost, wholeResponse } from './whole-response.ts';

/** The memory for a large request that is read, parsed and printed, as a multiple of its size in the store. Beside a long end it counts once. */
const requestFactor = 3;

/** A response on its way to a caller. */
export interface Answer {
  response: Response;
  /** The texts that the marks in a long answer stand for. */
  texts?: LongTexts | undefined;
  /** How many bytes of its body are held already, beside its long texts, until it is freed. */
  heldBytes?: number | undefined;
  /** Frees the memory of a long one, and of a large request; called once its reader has it or, without `texts`, once its body is made. */
  free: () => void;
}

/** An answer for which nothing is held. */
export function shortAnswer(response: Response): Answer {
  return { response, free: () => undefined };
}

/** Makes an answer of a short record, once there is room for its request if that is large, and for its end if that is long. */
export async function answerOf(
  store: Pick<CallerStores, 'openEnd' | 'read'>,
  record: ResponseRecord,
  hold: Caller['hold'],
): Promise<Answer> {
  const { id, largeRequestBytes: requestBytes, longEndBytes } = record;
  const make = async (end = record.end) => {
    const whole = requestBytes > 0 ? await store.read(id) : record;
    // It may have ended since, which this answer does not tell. Of one that is gone the short members are known.
    return responseOf({ ...record, request: whole?.request ?? record.request }, end);
  };
  if (longEndBytes === 0) return withShortEnd({ hold, requestBytes }, make);
  return withLongEnd(store, id, { bytes: longEndBytes, hold, requestBytes }, ({ end }) => make(end));
}

/** Makes the answer of a caller that has waited for an end, once there is room for that if it is long, and for a large request. */
export async function wholeAnswer(
  store: Pick<CallerStores, 'openEnd' | 'wasAskedToEnd'>,
  found: FoundEnd,
  { caller: { hold }, accepted }: { caller: Pick<Caller, 'hold'>; accepted: AcceptedResponse },
): Promise<Answer> {
  const { id, largeBytes: requestBytes } = accepted;
  const make = async ({ end }: KnownEnd) => {
    if (end.status === 'cancelled' && !(await store.wasAskedToEnd(id))) throw touchLost();
    return wholeResponse(await accepted.whole(), end);
  };
  if (found.kind === 'read') return withShortEnd({ hold, requestBytes }, () => make(parseEnd(found.json)));
  return withLongEnd(store, id, { bytes: found.bytes, hold, requestBytes }, make);
}

/** Makes an answer of a short end, once there is room for its request if that is large. */
async function withShortEnd(
  { hold, requestBytes }: { hold: Caller['hold']; requestBytes: number },
  make: () => Promise<Response>,
): Promise<Answer> {
  if (requestBytes === 0) return shortAnswer(await make());
  const free = await hold(requestFactor * requestBytes);
  try {
    return { response: await make(), free };
  } catch (error) {
    free();
    throw error;
  }
}

interface LongReading {
  /** Bytes of the end. */
  bytes: number;
  hold: Caller['hold'];
  requestBytes: number;
}

/** Makes an answer of a long end. */
async function withLongEnd(
  store: Pick<CallerStores, 'openEnd'>,
  responseId: string,
  reading: LongReading,
  make: (known: KnownEnd) => Promise<Response>,
): Promise<Answer> {
  const { bytes, hold, requestBytes } = reading;
  const { holdPart, holdBeside } = new ReaderRoom(hold, requestBytes);
  const open = await store.openEnd(responseId, { bytes, hold: holdPart, holdBeside });
  if (!open) throw responseGone();
  const { end, texts, hollowBytes, close: free } = open;
  try {
    return { response: await make({ end, texts }), texts, heldBytes: requestBytes + hollowBytes, free };
  } catch (error) {
    free();
    throw error;
  }
}
