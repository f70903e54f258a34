import { type InputItem, outputAsInput } from '@sluice/contract';
import { largeFrom } from '../large-values.ts';
import { parseEnd } from '../record/end-json.ts';
import { parseInput, readInputAt, textOf } from '../record/large-value.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import { readLongEnd } from './read-record.ts';
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
  return json === undefined ? undefined : parseEnd(textOf(json)).end.output.map(outputAsInput);
}

/** The input of a turn as JSON: a text, or the bytes of what is in the large value; undefined when it is gone by now. */
export async function readInputJson(
  access: LargeAccess,
  turn: Turn,
): Promise<string | Buffer<ArrayBuffer> | undefined> {
  const { responseId, largeBytes, requestAhead } = turn;
  const isLarge = largeBytes > requestAhead;
  const [input] = isLarge ? [] : await access.redis.hmget(keysOf(access, responseId).record, 'input');
  return readInputAt(access, responseId, {
    input: input ?? undefined,
    large_bytes: largeBytes,
    request_ahead: requestAhead,
  });
}

/** The end of a turn as JSON, which holds its output; undefined when there is none, or none any more. */
export async function readOutputJson(
  access: LargeAccess,
  { responseId, endBytes }: Turn,
): Promise<string | Buffer<ArrayBuffer> | undefined> {
  if (endBytes > largeFrom) return readLongEnd(access, responseId, endBytes);
  const [result] = await access.redis.hmget(keysOf(access, responseId).record, 'result');
  return result ?? undefined;
}
