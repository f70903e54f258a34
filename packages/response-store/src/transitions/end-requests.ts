import { textReply } from '../script/define-script.ts';

/** The outcome of a request for the end of a response. */
export type EndRequest =
  | { kind: 'missing' | 'terminal' | 'detached' }
  /** A worker has it, and it was to be left alone then. */
  | { kind: 'held' }
  /** Left to processes of the release that wrote it. */
  | { kind: 'unknown_version' }
  /** The end was asked for. A response that is still queued has no worker to write it: the caller does. */
  | { kind: 'asked'; isQueued: boolean };

/** Reads the reply that the scripts leave, cancel and abandon share. */
export function parseEndRequest(reply: unknown): EndRequest {
  const [kind, status] = textReply(reply);
  switch (kind) {
    case 'missing':
    case 'terminal':
    case 'detached':
    case 'held':
    case 'unknown_version':
      return { kind };
    case 'asked':
      return { kind, isQueued: status === 'queued' };
    default:
      throw new TypeError(`A script answered '${String(kind)}'`);
  }
}
