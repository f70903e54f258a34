import { type ErrorCode, parseClientFrame, ServiceError } from '@sluice/contract';
import type { PreparedRequest } from '@sluice/response-store';
import { type BodyOptions, prepareChecked, readJson } from './prepare-body.ts';

/** A frame of a client in the form in which it is worked at. It is plain data that a thread can send. */
export type PreparedFrame = { streamId: string | undefined } & (
  | { kind: 'create'; prepared: PreparedRequest; generates: boolean }
  | { kind: 'steer'; steer: Record<string, unknown> }
  | {
      kind: 'refused';
      code: ErrorCode;
      message: string;
      param: string | null;
      /** The response that it was to continue from. */
      previousId: string | undefined;
    }
);

/**
 * Makes of the bytes of a frame what is needed of it. What is wrong with it is part of the result, with the lane that it
 * belongs to where that is known. Depends on nothing but its arguments.
 */
export function prepareFrame(
  bytes: Uint8Array<ArrayBuffer>,
  { consume = false, hostedTools, ...options }: Omit<BodyOptions, 'withDigest' | 'form'>,
): PreparedFrame {
  let streamId: string | undefined;
  try {
    const frame = parseClientFrame(readJson(bytes, { consume }), { hostedTools });
    ({ streamId } = frame);
    if (frame.kind === 'refused') return refused(frame.error, frame);
    if (frame.kind === 'steer') return frame;
    const prepared = prepareChecked(frame.request, { ...options, withDigest: false });
    return { kind: 'create', streamId, prepared, generates: frame.generates };
  } catch (error) {
    if (error instanceof ServiceError) return refused(error, { streamId, previousId: undefined });
    throw error;
  }
}

function refused(
  { code, message, param }: ServiceError,
  { streamId, previousId }: { streamId: string | undefined; previousId: string | undefined },
): PreparedFrame {
  return { kind: 'refused', streamId, code, message, param, previousId };
}
