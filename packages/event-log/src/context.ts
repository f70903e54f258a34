import { type InputItem, outputAsInput } from '@sluice/contract';
import type { Redis } from 'ioredis';
import { parseEnd } from './record.ts';
import type { RedisKeys } from './redis-keys.ts';

/** Most responses that one may continue from, all the way back. */
export const maxChain = 1_000;

/** A finished response as a part of the context of a later one. */
export interface Turn {
  tenant: string;
  status: string;
  isStored: boolean;
  previousId: string | undefined;
  /** Its own input, without what it continued from. */
  input: InputItem[];
  output: InputItem[];
}

/** One response of a chain; undefined when it is gone. */
export async function readTurn(redis: Redis, keys: RedisKeys, responseId: string): Promise<Turn | undefined> {
  const names = ['tenant', 'status', 'request', 'input', 'result'];
  const [tenant, status, request, inline, result] = await redis.hmget(keys.record(responseId), ...names);
  if (!tenant || !status || !request) return undefined;
  const input = inline ?? (await redis.get(keys.input(responseId)));
  // The accept wrote these from a validated request.
  const { previous_response_id: previousId, store } = JSON.parse(request) as {
    previous_response_id?: string;
    store?: boolean;
  };
  return {
    tenant,
    status,
    isStored: store !== false,
    previousId,
    input: input ? (JSON.parse(input) as InputItem[]) : [], // written by the same accept
    output: result ? parseEnd(result).output.map(outputAsInput) : [],
  };
}

export type Context =
  | { kind: 'whole'; items: InputItem[] }
  /** A response on the way back is gone. */
  | { kind: 'broken'; missingId: string };

/**
 * Everything a response continues from: the input and output of each one before it, oldest first.
 *
 * Read when an attempt begins: what was deleted by then is missing, and the response fails rather than run
 * on half of its context.
 */
export async function readContext(
  redis: Redis,
  keys: RedisKeys,
  previousId: string | undefined,
): Promise<Context> {
  const turns: Turn[] = [];
  let next = previousId;
  while (next !== undefined) {
    const turn = turns.length < maxChain ? await readTurn(redis, keys, next) : undefined;
    if (!turn) return { kind: 'broken', missingId: next };
    turns.push(turn);
    next = turn.previousId;
  }
  return { kind: 'whole', items: turns.toReversed().flatMap(({ input, output }) => [...input, ...output]) };
}
