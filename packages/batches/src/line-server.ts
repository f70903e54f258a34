import type { BatchError, ErrorBody, LineEndpoint } from '@sluice/contract';
import type { BatchTokens } from './stored-batch.ts';

/** On whose behalf the lines of a batch run. */
export interface BatchOwner {
  tenant: string;
  /** The API key that made the batch, by the first characters of its SHA-256. */
  key: string;
}

export interface LineRequest {
  endpoint: LineEndpoint;
  /** JSON, whose bytes may be taken. */
  body: Uint8Array<ArrayBuffer>;
  /** Whether the response is to stay once its answer is kept. */
  isKept: boolean;
  /** The same for the same line each time: asked for again, it is the same response. */
  idempotencyKey: string;
}

/** How a line has ended. */
export interface LineAnswer {
  /** As an HTTP answer would have it. */
  status: number;
  requestId: string;
  /** JSON, or pieces of it, each of which is made when it is wanted: a long one would hold up everybody. */
  body: string | Iterable<Uint8Array>;
  tokens: BatchTokens | undefined;
  /** Whether somebody has cancelled it. */
  isCancelled: boolean;
  /** Frees what is held for the body. Called once that is written, or nobody wants it. */
  free?: () => void;
  /** Takes the response away, once the answer is kept; undefined when it is to stay. */
  forget: (() => Promise<void>) | undefined;
}

export interface LineRun {
  /** Aborted when this process waits no more. What was accepted runs on, for the process that comes next. */
  leaving: AbortSignal;
  /** Aborted when the batch ends before its lines have: what was accepted is cancelled, by a process before as well, and nothing begins. */
  ending: AbortSignal;
}

/** Serves the lines of batches, as the doors do. */
export interface LineServer {
  /** Says what is wrong with a line, before anything runs; undefined when nothing is. */
  check: (
    owner: BatchOwner,
    request: Pick<LineRequest, 'endpoint' | 'body'>,
  ) => Promise<ErrorBody | undefined>;
  /** The answer to a line that `parseLine` finds wrong, where that does not fail its batch. */
  refuse: (endpoint: LineEndpoint, problem: BatchError) => LineAnswer;
  /**
   * Runs a line to its end, also one that a process before has begun with. Waits as long as there is no room for it, or the store is away.
   *
   * @throws {LineLeft} when it was left before it ended.
   */
  run: (owner: BatchOwner, request: LineRequest, run: LineRun) => Promise<LineAnswer>;
}

/** Nobody waits for a line any more, or it never began. */
export class LineLeft extends Error {
  override readonly name = 'LineLeft';
}
