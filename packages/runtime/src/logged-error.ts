import { errorCode } from './fatal-error.ts';
import { maskSecrets } from './mask-secrets.ts';

/** The parts of an error that are logged. Properties that libraries attach to errors (commands, bodies) are left out. */
export interface LoggedError {
  type: string;
  code?: string;
  message: string;
  stack: string;
  /** Its cause, down to a few levels. */
  cause?: LoggedError;
}

/** The results of `loggedError`, so that none is reduced a second time and loses everything. */
const reduced = new WeakSet<object>();

/** Reduces an error to what may be logged. A thrown value that is not an error is logged as its type alone. */
export function loggedError(error: unknown): LoggedError {
  if (isReduced(error)) return error;
  const made = reduce(error, 0);
  reduced.add(made);
  return made;
}

function isReduced(error: unknown): error is LoggedError {
  return typeof error === 'object' && error !== null && reduced.has(error);
}

/** Causes are shown down to this level; a chain may be a ring. */
const deepestCause = 3;

function reduce(error: unknown, level: number): LoggedError {
  if (!(error instanceof Error)) {
    return { type: typeof error, message: 'something that is not an error was thrown', stack: '' };
  }
  const code = errorCode(error);
  return {
    type: error.name,
    ...(code === undefined ? {} : { code }),
    message: messageOf(error, level).slice(0, MESSAGE_LIMIT),
    stack: framesOf(error),
    ...(error.cause instanceof Error && level < deepestCause && { cause: reduce(error.cause, level + 1) }),
  };
}

/** Long enough for our own messages. A vendor's message that quotes a whole body is cut. */
const MESSAGE_LIMIT = 500;

/**
 * The message of an error, with secrets masked. The message of a cause is shown only if the engine wrote it, as for a
 * defect. Any other may quote a prompt or an answer, so its type, code and frames have to do.
 */
function messageOf(error: Error, level: number): string {
  const isTheEngines =
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  if (level > 0 && !isTheEngines) return 'not shown';
  return maskSecrets(withoutQuotedInput(error));
}

/** `JSON.parse` quotes the text it could not read, which may be a prompt. */
function withoutQuotedInput(error: Error): string {
  return error instanceof SyntaxError && error.message.includes('JSON') ? 'invalid JSON' : error.message;
}

/** The first lines of `stack` repeat the message, unmasked; only the frames are kept. */
function framesOf(error: Error): string {
  const lines = (error.stack ?? '').split('\n');
  return lines
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .join('\n');
}
