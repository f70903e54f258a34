import {
  type Batch,
  type BatchEndpoint,
  type BatchError,
  type BatchStatus,
  lineEndpoints,
  type LineEndpoint,
  batchStatuses,
  randomSuffix,
} from '@sluice/contract';
import { randomBytes } from '@sluice/runtime';

/** Tokens that the lines of a batch took together. */
export interface BatchTokens {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

export const noTokens: BatchTokens = { input: 0, cached: 0, output: 0, reasoning: 0 };

/** The moments that a batch notes when it comes to them. */
type Moment = 'inProgress' | 'finalizing' | 'completed' | 'failed' | 'expired' | 'cancelling' | 'cancelled';

/** How a batch ends, once its lines have. */
export type BatchEnding = 'completed' | 'failed' | 'expired' | 'cancelled';

/** A batch as it is kept. Times are milliseconds since 1970. */
export interface StoredBatch {
  /** The API key that made it, by the first characters of its SHA-256. */
  key: string;
  endpoint: LineEndpoint;
  inputFileId: string;
  metadata?: Record<string, string> | undefined;
  outputSeconds?: number | undefined;
  status: BatchStatus;
  createdAt: number;
  expiresAt: number;
  at: Partial<Record<Moment, number>>;
  /** Those that failed have those that expired. */
  counts: { total: number; completed: number; failed: number; expired?: number | undefined };
  tokens: BatchTokens;
  errors: BatchError[];
  /** The process that runs it: another one changes nothing of it any more. */
  runner?: string | undefined;
  /** How it ends: since its lines have ended. */
  ending?: BatchEnding | undefined;
  /** Its files, whose ids are made before the files are. */
  files?: { output?: string | undefined; errors?: string | undefined } | undefined;
}

/** A batch in a list, without what may be long. */
export type ListedBatch = Omit<StoredBatch, 'errors' | 'metadata'>;

export function newBatchId(): string {
  return `batch_${randomSuffix(randomBytes)}`;
}

export function isBatchId(text: string): boolean {
  return /^batch_[A-Za-z0-9]{32}$/.test(text);
}

const ends = ['failed', 'completed', 'expired', 'cancelled'] as const satisfies BatchStatus[];

export function hasEnded(batch: Pick<StoredBatch, 'status' | 'at'>): boolean {
  return endOf(batch) !== undefined;
}

/** The end of a batch, and when that was. */
export interface BatchEnd {
  status: (typeof ends)[number];
  /** Milliseconds since 1970. */
  at: number;
}

export function endOf({ status, at }: Pick<StoredBatch, 'status' | 'at'>): BatchEnd | undefined {
  const end = ends.find((each) => each === status);
  return end && { status: end, at: at[end] ?? 0 };
}

export function parseBatch(text: string): StoredBatch | undefined {
  try {
    const value = JSON.parse(text) as Partial<StoredBatch>; // looked at below
    const isKnown =
      batchStatuses.some((each) => each === value.status) &&
      lineEndpoints.some((each) => each === value.endpoint) &&
      typeof value.createdAt === 'number' &&
      typeof value.expiresAt === 'number' &&
      typeof value.inputFileId === 'string' &&
      typeof value.counts === 'object' &&
      typeof value.tokens === 'object' &&
      typeof value.at === 'object';
    return isKnown ? (value as StoredBatch) : undefined;
  } catch {
    return undefined;
  }
}

/** A batch and its id. */
export interface KnownBatch<
  Endpoint extends LineEndpoint = LineEndpoint,
  Stored extends ListedBatch = StoredBatch,
> {
  id: string;
  batch: Stored & { endpoint: Endpoint };
}

export function presentBatch({ id, batch }: KnownBatch<BatchEndpoint>): Batch {
  const { at, tokens, errors, files } = batch;
  const { total, completed, failed } = batch.counts;
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  const moment = (name: Moment) => (at[name] === undefined ? null : seconds(at[name]));
  const isOver = hasEnded(batch);
  return {
    id,
    object: 'batch',
    endpoint: batch.endpoint,
    status: batch.status,
    input_file_id: batch.inputFileId,
    completion_window: '24h',
    errors: errors.length > 0 ? { object: 'list', data: errors } : null,
    output_file_id: (isOver && files?.output) || null,
    error_file_id: (isOver && files?.errors) || null,
    created_at: seconds(batch.createdAt),
    in_progress_at: moment('inProgress'),
    expires_at: seconds(batch.expiresAt),
    finalizing_at: moment('finalizing'),
    completed_at: moment('completed'),
    failed_at: moment('failed'),
    expired_at: moment('expired'),
    cancelling_at: moment('cancelling'),
    cancelled_at: moment('cancelled'),
    request_counts: { total, completed, failed },
    usage: {
      input_tokens: tokens.input,
      input_tokens_details: { cached_tokens: tokens.cached },
      output_tokens: tokens.output,
      output_tokens_details: { reasoning_tokens: tokens.reasoning },
      total_tokens: tokens.input + tokens.output,
    },
    metadata: batch.metadata ?? null,
  };
}
