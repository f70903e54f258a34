import { pino, type DestinationStream, type Logger } from 'pino';
import { errorCode } from './fatal-error.ts';
import { maskSecrets } from './mask-secrets.ts';

export type { Logger };

/** From the most to the least verbose; `silent` writes nothing. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LoggerOptions {
  /** The name of the process, such as `api`. */
  name: string;
  level: LogLevel;
  /** Where lines go; standard output by default, written synchronously so that a crash loses none. */
  destination?: DestinationStream;
}

/** The parts of an error that are logged. Properties that libraries attach to errors (commands, bodies) are left out. */
export interface LoggedError {
  type: string;
  code?: string;
  message: string;
  stack: string;
  /** Its cause, down to a few levels. */
  cause?: LoggedError;
}

/**
 * Creates the process's logger: one JSON object a line, ISO time, level as a word.
 *
 * Its redaction is the last guard against leaks, not the first. Fields named like credentials or content are replaced,
 * down to the third level. An `Error` under any name is reduced to type, code, message and frames, with secrets masked
 * in the message. Deeper fields and the text of log messages are not checked.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    name: options.name,
    level: options.level,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactedPaths(), censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }), log: withSafeErrors },
    // Replaces pino's own, which would treat a reduced error as one of type Object.
    serializers: { err: (error: unknown) => (error instanceof Error ? loggedError(error) : error) },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
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

const CREDENTIAL_FIELDS = ['authorization', 'cookie', 'apiKey', 'key', 'keys', 'secret', 'password', 'token'];
const CREDENTIAL_FIELDS_ON_THE_WIRE = [
  'api_key',
  '["x-api-key"]',
  '["proxy-authorization"]',
  '["set-cookie"]',
  '["sluice-action-token"]',
  '["sluice-api-key"]',
];
const SETTINGS_WITH_SECRETS = [
  'adminToken',
  'adminActionToken',
  'redisUrl',
  'REDIS_URL',
  'ADMIN_TOKEN',
  'ADMIN_ACTION_TOKEN',
];
const CONTENT_FIELDS = [
  'input',
  'instructions',
  'prompt',
  'messages',
  'output',
  'content',
  'text',
  'delta',
  'body',
];

function redactedPaths(): string[] {
  const fields = [
    ...CREDENTIAL_FIELDS,
    ...CREDENTIAL_FIELDS_ON_THE_WIRE,
    ...SETTINGS_WITH_SECRETS,
    ...CONTENT_FIELDS,
  ];
  return fields.flatMap((field) => {
    const step = field.startsWith('[') ? field : `.${field}`;
    return [field, `*${step}`, `*.*${step}`];
  });
}

/** Serialisers apply to known field names only, so errors under any other name are reduced here. */
function withSafeErrors(fields: Record<string, unknown>): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    safe[name] =
      value instanceof Error || name === 'err' || name === 'error' ? loggedErrorOrText(value) : value;
  }
  return safe;
}

function loggedErrorOrText(value: unknown): LoggedError | string {
  return typeof value === 'string' ? maskSecrets(value) : loggedError(value);
}

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
