import { type ErrorCode, ServiceError } from '@sluice/contract';
import type { PreparedRequest } from '@sluice/response-store';
import { parentPort } from 'node:worker_threads';
import { prepareBody } from './prepare-body.ts';

/** A body for a thread of `BodyThreads`; its bytes are transferred. */
export interface BodyTask {
  body: Uint8Array<ArrayBuffer>;
  withDigest: boolean;
}

/** What a thread answers. */
export type BodyResult =
  | { kind: 'prepared'; prepared: PreparedRequest }
  | { kind: 'refused'; code: ErrorCode; message: string; param: string | null }
  /** Something that is no fault of the body. */
  | { kind: 'failed'; error: unknown };

// Prepares one body after the other. A thread of its own has a heap of its own, so what a body takes there is bounded.
parentPort?.on('message', ({ body, withDigest }: BodyTask) => {
  const { result, transfer } = resultOf(body, withDigest);
  parentPort?.postMessage(result, transfer);
});

function resultOf(
  body: Uint8Array<ArrayBuffer>,
  withDigest: boolean,
): { result: BodyResult; transfer: ArrayBuffer[] } {
  try {
    const { byteLength: inputBytes } = body;
    const prepared = prepareBody(body, { withDigest, inputBytes, consume: true });
    const { buffer } = prepared.input as Uint8Array<ArrayBuffer>; // `inputBytes` asks for bytes
    return { result: { kind: 'prepared', prepared }, transfer: [buffer] };
  } catch (error) {
    if (!(error instanceof ServiceError)) return { result: { kind: 'failed', error }, transfer: [] };
    const { code, message, param } = error;
    return { result: { kind: 'refused', code, message, param }, transfer: [] };
  }
}
