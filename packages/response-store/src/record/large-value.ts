import type { InputItem } from '@sluice/contract';
import { type FieldName, parseFields, type RecordFields } from './fields.ts';
import type { StoredRequest } from './record.ts';
import { keysOf, type LargeAccess } from './store-access.ts';

/** What says where the request and the input of a record are. */
export const placeFields = ['input', 'large_bytes', 'request_ahead'] as const satisfies FieldName[];

type Places = Pick<RecordFields, (typeof placeFields)[number]>;

/** The members of a request that a record holds itself when the whole of the request is in the large value. */
export function shortMembers(request: StoredRequest): StoredRequest {
  const { model, stream, store, background, previous_response_id } = request;
  return {
    model,
    ...(stream !== undefined && { stream }),
    ...(store !== undefined && { store }),
    ...(background !== undefined && { background }),
    ...(previous_response_id !== undefined && { previous_response_id }),
  };
}

/** The JSON of a request that is in the large value; undefined when it is in the record, or lost. */
export async function readRequestAhead(
  access: LargeAccess,
  responseId: string,
  ahead: number | undefined,
): Promise<string | undefined> {
  if (!ahead) return undefined;
  const bytes = await access.large.read(keysOf(access, responseId).large, 0, ahead);
  return bytes?.toString();
}

/** The input of a response, wherever it is; undefined when it is gone. */
export async function inputAt(
  access: LargeAccess,
  responseId: string,
  { input, large_bytes: bytes = 0, request_ahead: ahead = 0 }: Places,
): Promise<InputItem[] | undefined> {
  const json =
    input ||
    (bytes > ahead
      ? (await access.large.read(keysOf(access, responseId).large, ahead, bytes - ahead))?.toString()
      : undefined);
  return json ? (JSON.parse(json) as InputItem[]) : undefined; // written by the accept from a validated request
}

/** The input of a response itself, without what it continues from; undefined when it is gone. */
export async function readInput(access: LargeAccess, responseId: string): Promise<InputItem[] | undefined> {
  const values = await access.redis.hmget(keysOf(access, responseId).record, ...placeFields);
  return inputAt(access, responseId, parseFields(placeFields, values));
}
