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

/**
 * The memory for a large request that is read, parsed and printed, as a multiple of its size in the store. Beside a long end it counts
 * once: a tenant that holds the end may not have more room, and would wait for itself.
 */
const requestFactor = { alone: 3, besideLongEnd: 1 };

/** A response on its way to a caller. */
export interface Answer {
  response: Response;
  /** The texts that the marks in a long answer stand for. */
  texts?: LongTexts | undefined;
  /** Frees the memory of a long one, and all else that is held for it; called once its reader has it or, without `texts`, once its body is made. */
  free: () => void;
  /** Frees that of a large request alone; called once the body is made, which counts by itself. */
  freeRequest?: (() => void) | undefined;
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
  const { id, largeRequestBytes, longEndBytes } = record;
  const make = (factor: number, end = record.end) =>
    withRequest({ bytes: factor * largeRequestBytes, hold }, async () => {
      const whole = largeRequestBytes > 0 ? await store.read(id) : record;
      // It may have ended since, which this answer does not tell. Of one that is gone the short members are known.
      return responseOf({ ...record, request: whole?.request ?? record.request }, end);
    });
  if (longEndBytes === 0) return make(requestFactor.alone);
  return withLongEnd(store, id, { bytes: longEndBytes, hold }, ({ end }) =>
    make(requestFactor.besideLongEnd, end),
  );
}

/** Makes the answer of a caller that has waited for an end, once there is room for that if it is long, and for a large request. */
export async function wholeAnswer(
  store: Pick<CallerStores, 'openEnd' | 'wasAskedToEnd'>,
  found: FoundEnd,
  { caller: { hold }, accepted }: { caller: Pick<Caller, 'hold'>; accepted: AcceptedResponse },
): Promise<Answer> {
  const make = async ({ end }: KnownEnd, factor: number) => {
    if (end.status === 'cancelled' && !(await store.wasAskedToEnd(accepted.id))) throw touchLost();
    return withRequest({ bytes: factor * accepted.largeBytes, hold }, async () =>
      wholeResponse(await accepted.whole(), end),
    );
  };
  if (found.kind === 'read') return make(parseEnd(found.json), requestFactor.alone);
  return withLongEnd(store, accepted.id, { bytes: found.bytes, hold }, (known) =>
    make(known, requestFactor.besideLongEnd),
  );
}

/** Makes an answer that repeats a request, for which so many bytes are held when it is large, and none otherwise. */
async function withRequest(
  { bytes, hold }: { bytes: number; hold: Caller['hold'] },
  make: () => Promise<Response>,
): Promise<Answer> {
  if (bytes === 0) return shortAnswer(await make());
  const free = await hold(bytes);
  try {
    return { response: await make(), free, freeRequest: free };
  } catch (error) {
    free();
    throw error;
  }
}

/** Makes an answer of a long end. */
async function withLongEnd(
  store: Pick<CallerStores, 'openEnd'>,
  responseId: string,
  reading: Parameters<CallerStores['openEnd']>[1],
  make: (known: KnownEnd) => Promise<Answer>,
): Promise<Answer> {
  const open = await store.openEnd(responseId, reading);
  if (!open) throw responseGone();
  try {
    const { response, free: freeRequest } = await make(open);
    const free = () => {
      freeRequest();
      open.close();
    };
    return { response, texts: open.texts, free, freeRequest };
  } catch (error) {
    open.close();
    throw error;
  }
}
