import type { Response } from '@sluice/contract';
import {
  type CallerStore,
  type KnownEnd,
  type LongTexts,
  type ResponseRecord,
  responseOf,
} from '@sluice/response-store';
import { responseGone } from './whole-response.ts';

/** A response on its way to a caller. */
export interface Answer {
  response: Response;
  /** What marks in its texts stand for, of a long one. */
  texts?: LongTexts | undefined;
  /** Gives back the memory of a long one, once its reader has it. */
  letGo: () => void;
}

/** An answer for which nothing is held. */
export function shortAnswer(response: Response): Answer {
  return { response, letGo: () => undefined };
}

/** Makes an answer of a record, once there is room for its end if that is long. */
export async function answerOf(
  store: Pick<CallerStore, 'openEnd'>,
  record: ResponseRecord,
  hold: Parameters<CallerStore['openEnd']>[1]['hold'],
): Promise<Answer> {
  if (record.longEndBytes === 0) return shortAnswer(responseOf(record));
  return withLongEnd(store, record.id, { bytes: record.longEndBytes, hold }, ({ end }) =>
    Promise.resolve(responseOf(record, end)),
  );
}

/** Makes an answer of a long end. */
export async function withLongEnd(
  store: Pick<CallerStore, 'openEnd'>,
  responseId: string,
  reading: Parameters<CallerStore['openEnd']>[1],
  make: (known: KnownEnd) => Promise<Response>,
): Promise<Answer> {
  const open = await store.openEnd(responseId, reading);
  if (!open) throw responseGone();
  try {
    return { response: await make(open), texts: open.texts, letGo: open.close };
  } catch (error) {
    open.close();
    throw error;
  }
}
