import { pino, type DestinationStream, type Logger } from 'pino';
import { errorCode } from './fatal-error.ts';
import { maskSecrets } from './mask-secrets.ts';

export type { Logger };

/** From the loudest to the quietest; `silent` prints nothing. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface LoggerOptions {
  /** The process that writes, such as `api`. */
  name: string;
  level: LogLevel;
  /** Where lines go; standard output by default, written synchronously so that a crash loses none. */
  destination?: DestinationStream;
}

/** What the log shows of an error. Properties that a library hangs on its errors (commands, bodies) are not among them. */
export interface LoggedError {
  type: string;
  code?: string;
  message: string;
  stack: string;
}

/**
 * Creates the process's logger: one JSON object a line, ISO time, level as a word.
 *
 * It is the last guard against leaks, not the first. Fields whose names stand for credentials or content are
 * replaced at the top and two levels down, and an `Error` under any name is reduced to type, code, message and frames,
 * with secrets masked in the message. What is put into the text of a message, or deeper, is not looked at.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    name: options.name,
    level: options.level,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactedPaths(), censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }), log: withSafeErrors },
    // In place of pino's own, which takes what has been reduced for an error whose type is Object.
    serializers: { err: (error: unknown) => (error instanceof Error ? loggedError(error) : error) },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** What `loggedError` has made, so that it is not reduced again, to nothing. */
const reduced = new WeakSet<object>();

/** Reduces an error to what may be logged. Anything else that was thrown is named by its type only. */
export function loggedError(error: unknown): LoggedError {
  if (isReduced(error)) return error;
  const made = reduce(error);
  reduced.add(made);
  return made;
}

function isReduced(error: unknown): error is LoggedError {
  return typeof error === 'object' && error !== null && reduced.has(error);
}

function reduce(error: unknown): LoggedError {
  if (!(error instanceof Error)) {
    return { type: typeof error, message: 'something that is not an error was thrown', stack: '' };
  }
  const code = errorCode(error);
  return {
    type: error.name,
    ...(code === undefined ? {} : { code }),
    message: maskSecrets(withoutQuotedInput(error)).slice(0, MESSAGE_LIMIT),
    stack: framesOf(error),
  };
}

/** Long enough for any message of ours; a vendor's that quotes a whole body is cut. */
const MESSAGE_LIMIT = 500;

const CREDENTIAL_FIELDS = ['authorization', 'cookie', 'apiKey', 'key', 'keys', 'secret', 'password', 'token'];
const CREDENTIAL_FIELDS_ON_THE_WIRE = [
  'api_key',
  '["x-api-key"]',
  '["proxy-authorization"]',
  '["set-cookie"]',
];
const SETTINGS_WITH_SECRETS = ['adminToken', 'redisUrl', 'REDIS_URL', 'ADMIN_TOKEN'];
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

/** Serialisers go by field name; an error logged under a name nobody thought of would show all it carries. */
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
