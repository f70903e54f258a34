import { addAbortSignal } from 'node:stream';
import type { BatchError } from '@sluice/contract';
import { type BatchLine, idOfWrong, linesOf, mostLines, mostWithEmpty, type RawLine } from './batch-lines.ts';
import type { BatchOwner } from './line-server.ts';
import type { BatchParts } from './line-run.ts';
import type { StoredBatch } from './stored-batch.ts';

/** Most errors that a batch says. */
const mostErrors = 100;

export interface CheckedInput {
  total: number;
  errors: BatchError[];
}

/** Looks at every line of the input of a batch, before any of them runs. Rejects with the reason of the signal when that is aborted. */
export async function checkInput(
  owner: BatchOwner,
  { inputFileId, endpoint }: Pick<StoredBatch, 'inputFileId' | 'endpoint'>,
  { files, server, readLine, signal }: Omit<BatchParts, 'linesAtOnce'> & { signal: AbortSignal },
): Promise<CheckedInput> {
  const { content } = await files.read(owner.tenant, inputFileId);
  // A read that hangs is left as well.
  addAbortSignal(signal, content);
  const errors: BatchError[] = [];
  const seen = new Map<string, number>();
  let total = 0;
  for await (const raw of linesOf(content)) {
    signal.throwIfAborted();
    total += 1;
    if (total > mostLines || raw.number > mostWithEmpty) {
      content.destroy();
      const most = total > mostLines ? `${mostLines} lines` : `${mostWithEmpty} lines with the empty ones`;
      const message = `The file has more than ${most}.`;
      return { total, errors: [{ code: 'too_many_lines', line: raw.number, message, param: null }] };
    }
    const parsed = await readLine(owner.tenant, raw, endpoint);
    const error = 'problem' in parsed ? failing(raw, parsed.problem) : await problemOf(parsed.line);
    if (error) errors.push(error);
    if (errors.length === mostErrors) break;
  }
  content.destroy();
  if (total === 0)
    errors.push({ code: 'empty_file', line: null, message: 'The file has no lines.', param: null });
  return { total, errors };

  function failing(raw: RawLine, problem: BatchError): BatchError | undefined {
    return idOfWrong(raw, endpoint) === undefined ? problem : undefined;
  }

  async function problemOf({ number, customId, body }: BatchLine): Promise<BatchError | undefined> {
    const first = seen.get(customId);
    if (first !== undefined) {
      const message = `'custom_id' is that of line ${first}.`;
      return { code: 'duplicate_custom_id', line: number, message, param: 'custom_id' };
    }
    seen.set(customId, number);
    const problem = await server.check(owner, { endpoint, body });
    if (!problem) return undefined;
    const { code, message, param } = problem;
    return { code, line: number, message, param: param === null ? null : `body.${param}` };
  }
}
