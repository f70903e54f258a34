import { type InputItem, outputAsInput, type Status } from '@sluice/contract';
import { parseEnd } from '../record/end-json.ts';
import { parseFields } from '../record/fields.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';

/** Most responses that one may continue from, all the way back. */
export const maxChain = 1_000;

/** A finished response as a part of the context of a later one. */
export interface Turn {
  tenant: string;
  status: Status;
  isStored: boolean;
  previousId: string | undefined;
  /** Its own input, without what it continued from. */
  input: InputItem[];
  output: InputItem[];
}

const turnFields = ['tenant', 'status', 'stored', 'request', 'input', 'result'] as const;

/** One response of a chain; undefined when it is gone. */
export async function readTurn(access: StoreAccess, responseId: string): Promise<Turn | undefined> {
  const { record, input: inputKey } = keysOf(access, responseId);
  const fields = parseFields(turnFields, await access.redis.hmget(record, ...turnFields));
  const { tenant, status, stored, request, result } = fields;
  if (tenant === undefined || status === undefined || request === undefined) return undefined;
  const input = fields.input || (await access.redis.get(inputKey));
  if (!input) return undefined;
  return {
    tenant,
    status,
    isStored: stored === true,
    // The accept wrote request and input from a validated request.
    previousId: (JSON.parse(request) as { previous_response_id?: string }).previous_response_id,
    input: JSON.parse(input) as InputItem[],
    output: result ? parseEnd(result).end.output.map(outputAsInput) : [],
  };
}

export type ResponseContext =
  | { kind: 'whole'; items: InputItem[] }
  /** A response on the way back is gone. */
  | { kind: 'broken'; missingId: string };

/**
 * Everything a response continues from: the input and output of each one before it, oldest first.
 *
 * Read when an attempt begins: what was deleted by then is missing, and the response fails rather than run on half of
 * its context.
 */
export async function readContext(
  access: StoreAccess,
  previousId: string | undefined,
): Promise<ResponseContext> {
  const turns: Turn[] = [];
  let next = previousId;
  while (next !== undefined) {
    const turn = turns.length < maxChain ? await readTurn(access, next) : undefined;
    if (!turn) return { kind: 'broken', missingId: next };
    turns.push(turn);
    next = turn.previousId;
  }
  return { kind: 'whole', items: turns.toReversed().flatMap(({ input, output }) => [...input, ...output]) };
}
