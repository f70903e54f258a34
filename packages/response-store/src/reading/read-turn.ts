import { type InputItem, outputAsInput } from '@sluice/contract';
import { largeFrom } from '../large-values.ts';
import { parseEnd } from '../record/end-json.ts';
import { type FieldName, parseFields, type RecordFields, storedNames } from '../record/fields.ts';
import { parseInput, readInputAt } from '../record/large-value.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import type { Turn } from './walk.ts';

/** The input of a turn; undefined when it is gone by now. */
export async function readTurnInput(access: LargeAccess, turn: Turn): Promise<InputItem[] | undefined> {
  const json = await readInputJson(access, turn);
  return json === undefined ? undefined : parseInput(json);
}

/** The output of a turn as input of a later one; undefined when it is gone by now. */
export async function readTurnOutput(access: LargeAccess, turn: Turn): Promise<InputItem[] | undefined> {
  if (turn.endBytes === 0) return [];
  const json = await readOutputJson(access, turn);
  return json === undefined ? undefined : parseEnd(json).end.output.map(outputAsInput);
}

/** The input of a turn as JSON: a text, or the bytes of what is in the large value; undefined when it is gone by now. */
export async function readInputJson(
  access: LargeAccess,
  turn: Turn,
): Promise<string | Buffer<ArrayBuffer> | undefined> {
  const { responseId, largeBytes, requestAhead } = turn;
  const isLarge = largeBytes > requestAhead;
  const { input } = isLarge ? { input: '' } : await fieldsOf(access, turn, ['input'], turn.inputBytes);
  return readInputAt(access, responseId, { input, large_bytes: largeBytes, request_ahead: requestAhead });
}

/** The end of a turn as JSON, which holds its output; undefined when there is none, or none any more. */
export async function readOutputJson(access: LargeAccess, turn: Turn): Promise<string | undefined> {
  const { result } = await fieldsOf(access, turn, ['result'], turn.endBytes);
  return result;
}

/** Reads fields that are so many bytes together, where nobody waits behind them if they are many. */
async function fieldsOf<const Name extends FieldName>(
  { redis, large, keys }: LargeAccess,
  { responseId }: Turn,
  names: readonly Name[],
  bytes: number,
): Promise<Pick<RecordFields, Name>> {
  const { record } = keysOf({ keys }, responseId);
  const values =
    bytes > largeFrom
      ? await large.transfer(bytes, (connection) => connection.hmget(record, ...storedNames(names)))
      : await redis.hmget(record, ...storedNames(names));
  return parseFields(names, values);
}
