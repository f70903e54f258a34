import { pino, type DestinationStream, type Logger } from 'pino';
import { type LoggedError, loggedError } from './logged-error.ts';
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
