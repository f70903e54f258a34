import { type InputItem, outputAsInput } from '@sluice/contract';
import { largeFrom } from '../large-values.ts';
import { parseEnd } from '../record/end-json.ts';
import { parseInputInTurns, readInputAt, textOf } from '../record/large-value.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import { readLongEnd } from './read-record.ts';
import type { Turn, TurnContent } from './walk.ts';

/** The input of a turn and its output as input of a later one; undefined when some of it is gone by now. */
export async function readTurn(access: LargeAccess, turn: Turn): Promise<InputItem[] | undefined> {
  const content = turn.content ?? (await readShortContent(access, turn));
  const input = content?.input || (await readInputJson(access, turn));
  if (input === undefined) return undefined;
  if (turn.endBytes === 0) return parseInputInTurns(input);
  const end = content?.end || (await readOutputJson(access, turn));
  if (end === undefined) return undefined;
  return [...(await parseInputInTurns(input)), ...parseEnd(textOf(end)).end.output.map(outputAsInput)];
}

/** Both by one command, where both are in the record. */
async function readShortContent(access: LargeAccess, turn: Turn): Promise<TurnContent | undefined> {
  const { responseId, largeBytes, requestAhead, endBytes } = turn;
  if (largeBytes > requestAhead || endBytes > largeFrom) return undefined;
  const [input, end] = await access.redis.hmget(keysOf(access, responseId).record, 'input', 'result');
  return { input: input ?? '', end: end ?? '' };
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
