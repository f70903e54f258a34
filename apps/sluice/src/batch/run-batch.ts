import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, openAsBlob } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, FileObject } from '@sluice/contract';
import { errorCode, FatalError } from '@sluice/runtime';
import { type ApiClient, ServiceAway } from '../api-client.ts';
import { printableJson, printableLine } from '../printable.ts';
import type { BatchProgress } from './batch-progress.ts';

export interface RunBatchOptions {
  /** Absolute. */
  file: string;
  /** Whether a batch of the same content is left alone. */
  isAgain: boolean;
  isJson: boolean;
  progress: BatchProgress;
  /** Pause between two looks, in milliseconds; a second by default. */
  everyMs?: number;
}

type Client = Pick<ApiClient, 'json' | 'bytes'>;

/** The member of a batch's metadata by which the same content is found again: its SHA-256 in hexadecimal. */
const contentMember = 'sluice_sha256';

/** Most errors of a file that are printed. */
const mostErrors = 20;

/**
 * Runs the lines of a file as a batch and writes what comes of them, or goes on with the batch that was made of the same content.
 *
 * @throws {FatalError} when the batch, or one of its lines, has not completed.
 */
export async function runBatch(client: Client, options: RunBatchOptions): Promise<void> {
  const { file, progress, isJson } = options;
  const batch = await ended(client, await begun(client, options), options);
  const { total, completed, failed } = batch.request_counts;
  const { answers, errors } = namesOf(file);
  await keep(client, batch.output_file_id, answers);
  await keep(client, batch.error_file_id, errors);
  progress.close();
  if (isJson) console.log(printableJson(JSON.stringify(batch)));
  else if (batch.output_file_id !== null) console.log(`${count(completed)} answers are in ${answers}.`);
  if (batch.status === 'failed' && completed + failed === 0)
    throw new FatalError(`The file was refused, and nothing of it has run:\n${errorsOf(batch)}`);
  if (batch.status === 'failed')
    throw new FatalError(
      `The batch failed behind ${count(completed + failed)} of ${count(total)} lines. Run the others as a file of their own:\n${errorsOf(batch)}`,
    );
  if (batch.status !== 'completed')
    throw new FatalError(
      `The batch ${batch.status} with ${count(completed)} of ${count(total)} lines. Run it again with --again.`,
    );
  if (failed > 0)
    throw new FatalError(`${count(failed)} of ${count(total)} lines have failed: ${errors} says why.`);
}

/** The batch of this content that there is, or a new one. */
async function begun(client: Client, { file, isAgain, progress }: RunBatchOptions): Promise<Batch> {
  const [digest, endpoint] = await Promise.all([digestOf(file), endpointIn(file)]);
  const known = isAgain ? undefined : await find(client, digest);
  if (known) {
    progress.say(`Goes on with ${known.id}, which has the same content.`);
    return known;
  }
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', await openAsBlob(file, { type: 'application/jsonl' }), basename(file));
  const { id } = await client.json<FileObject>('POST', '/files', form);
  const batch = await client.json<Batch>('POST', '/batches', {
    input_file_id: id,
    endpoint,
    completion_window: '24h',
    metadata: { [contentMember]: digest },
  });
  progress.say(`Runs as ${batch.id}. The same command goes on with it when this one ends before.`);
  return batch;
}

/** One that was refused or cancelled is none to go on with. */
async function find(client: Client, digest: string): Promise<Batch | undefined> {
  let after = '';
  for (;;) {
    const page = await client.json<{ data: Batch[]; has_more: boolean }>('GET', `/batches?limit=100${after}`);
    const found = page.data.find(
      ({ status, metadata }) =>
        metadata?.[contentMember] === digest &&
        !['failed', 'cancelling', 'cancelled', 'expired'].includes(status),
    );
    const last = page.data.at(-1);
    if (found || !page.has_more || !last) return found;
    after = `&after=${encodeURIComponent(last.id)}`;
  }
}

/** Waits for the end, through whatever happens to the service. */
async function ended(
  client: Client,
  begin: Batch,
  { progress, everyMs = 1_000 }: RunBatchOptions,
): Promise<Batch> {
  let batch = begin;
  while (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
    progress.show(batch);
    await pause(everyMs);
    try {
      batch = await client.json<Batch>('GET', `/batches/${batch.id}`);
    } catch (error) {
      if (!(error instanceof ServiceAway)) throw error;
      progress.wait(error.message);
    }
  }
  return batch;
}

/** Writes a file of results, or takes away one of an earlier run. A file is whole or not there. */
async function keep(client: Client, id: string | null, path: string): Promise<void> {
  if (id === null) return rm(path, { force: true });
  const draft = `${path}.part`;
  await pipeline(Readable.fromWeb(await client.bytes(`/files/${id}/content`)), createWriteStream(draft));
  await rename(draft, path);
}

function namesOf(file: string): { answers: string; errors: string } {
  const stem = file.replace(/\.jsonl$/, '');
  return { answers: `${stem}.answers.jsonl`, errors: `${stem}.errors.jsonl` };
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash);
  } catch (error) {
    throw new FatalError(`${file} cannot be read (${errorCode(error) ?? 'no file'}).`);
  }
  return hash.digest('hex');
}

/** The `url` of the first line, which all of them must have. */
async function endpointIn(file: string): Promise<string> {
  const lines = createInterface({ input: createReadStream(file).on('error', () => undefined) });
  for await (const line of lines) {
    if (line.trim() === '') continue;
    lines.close();
    const url = urlOf(line);
    if (url === undefined) break;
    return url;
  }
  throw new FatalError(`${file}: the first line must be a JSON object with a 'url', such as /v1/responses.`);
}

function urlOf(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const url = typeof value === 'object' && value !== null && 'url' in value ? value.url : undefined;
    return typeof url === 'string' ? url : undefined;
  } catch {
    return undefined;
  }
}

function errorsOf({ errors }: Batch): string {
  const all = errors?.data ?? [];
  const lines = all
    .slice(0, mostErrors)
    .map(({ line, message, param }) =>
      printableLine(
        `  ${line === null ? '' : `line ${line}: `}${message}${param === null ? '' : ` (${param})`}`,
      ),
    );
  if (all.length > mostErrors) lines.push(`  and ${all.length - mostErrors} more`);
  return lines.join('\n');
}

const count = (value: number) => value.toLocaleString('en');
