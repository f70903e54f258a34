import { isIP } from 'node:net';
import { parseRedisCells } from '@sluice/runtime/redis-cells';
import { z } from 'zod';

/** The longest delay of a Node timer. With a longer one it fires at once. */
const longestTimerMs = 2 ** 31 - 1;
const tenYearsSeconds = 10 * 365 * 24 * 3600;
/** Each job touches about ten Redis keys that contain the name of its queue, so a long name costs memory. */
const longestQueueName = 200;

/** How settings are parsed: zod compiles a parser at its first use, which does not pay for what is parsed once in the life of a process. */
export const parsedOnce = { jitless: true } as const;

/** A whole number between two bounds, both allowed. */
export function wholeNumber(minimum: number, maximum: number) {
  return z.int().min(minimum).max(maximum);
}

/** An amount of money, or a price: a number of up to six places, with both bounds allowed. */
export function money(minimum: number, maximum: number) {
  return (
    z
      .number()
      .min(minimum)
      .max(maximum)
      // A number that is printed with an exponent has too many places, or is out of bounds.
      .refine((value) => /^\d+(\.\d{1,6})?$/.test(String(value)), 'must have six decimal places at most')
  );
}

/** A duration in milliseconds, within the range of a Node timer. */
export function milliseconds(minimum = 1) {
  return wholeNumber(minimum, longestTimerMs).meta({ unit: 'ms' });
}

/** A duration in seconds, measured by Redis. */
export function seconds(minimum = 1) {
  return wholeNumber(minimum, tenYearsSeconds).meta({ unit: 's' });
}

/** A TCP port; 0 asks the system for a free one. */
export function port() {
  return wholeNumber(0, 65_535);
}

/** A network: an IP address and the length of its prefix. */
export function cidr() {
  return z
    .string()
    .refine(isNetwork, 'must be a network such as 10.0.0.0/8 or fd00::/8; write one address as 192.0.2.1/32');
}

function isNetwork(value: string): boolean {
  const [, address = '', prefix = ''] = /^([0-9A-Fa-f.:]+)\/(\d{1,3})$/.exec(value) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}

/** The origin of pages, as a browser sends it, or `*` for any. */
export function origin() {
  return z
    .string()
    .refine(
      isOrigin,
      'must be an origin as browsers send it, such as https://chat.example.com or http://localhost:5173: lower case, without a path or the usual port',
    );
}

/** Whether a browser would write it so. Programs with a web view have schemes of their own, which have no usual form. */
function isOrigin(value: string): boolean {
  if (value === '*') return true;
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,*]+$/.test(value)) return false;
  return !/^https?:/.test(value) || (URL.canParse(value) && new URL(value).origin === value);
}

/** Text that is not empty and has no control characters. */
export function text(maximum = 4096) {
  return z
    .string()
    .min(1)
    .max(maximum)
    .regex(/^\P{Cc}*$/u, 'must not hold control characters or line ends');
}

/** A short name that needs no escaping in Redis keys, metrics and logs. */
export function plainName() {
  return z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      'must be 1 to 64 letters, digits, dots, hyphens or underscores, with a letter or digit first',
    );
}

/** A credential that fits into an HTTP header: visible ASCII without spaces. */
export function credential(minimum = 1) {
  return z
    .string()
    .min(minimum)
    .max(4096)
    .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII characters without spaces')
    .meta({ secret: true });
}

/** The id of a model or the name of its queue. Any script is allowed, if the encoded name of the queue stays short. */
export function modelName() {
  return z.string().superRefine((value, context) => {
    const message = faultOfModelName(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

function faultOfModelName(value: string): string | undefined {
  if (value === '') return 'must not be empty; give the name that clients send as `model`';
  // A lone surrogate has no encoding, so no queue could be named after it.
  if (!value.isWellFormed()) return 'must be valid Unicode text; it holds half of a surrogate pair';
  if (/[\p{Cc}\s]/u.test(value)) return 'must not hold spaces or control characters';
  if (value === '*' || /^\.+$/.test(value)) return 'must be a name; "*" and dots alone mean something else';
  const length = encodeURIComponent(value).length;
  if (length > longestQueueName) {
    return `is ${length} characters long once encoded as a queue name; shorten it to at most ${longestQueueName}`;
  }
  return undefined;
}

/** A share relative to others. The smallest and the largest keep the order of a queue exact. */
export function weight() {
  return z.number().min(0.1).max(1000);
}

/** The addresses of Redis or Valkey, one for each cell. */
export const redisUrl = z
  .string()
  .superRefine((value, context) => {
    try {
      parseRedisCells(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
    }
  })
  .meta({ secret: true });

export const postgresUrl = z
  .string()
  .refine(isPostgresUrl, 'must be an address such as postgres://user:password@127.0.0.1:5432/sluice')
  .meta({ secret: true });

function isPostgresUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'postgres:' || url.protocol === 'postgresql:') && url.hostname !== '';
}

/** The address of a server that is called by HTTP, without a path of its own. */
export const serverUrl = z
  .string()
  .refine(
    isServerUrl,
    'must be an address such as https://storage.example.com, without credentials and path',
  );

function isServerUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
}

/** The name of a bucket of S3. */
export function bucketName() {
  return z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'must be 3 to 63 lower-case letters, digits, dots or hyphens, with a letter or digit at both ends',
    );
}

/** Where something listens. */
export const host = z
  .string()
  .regex(
    /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*|[A-Za-z0-9._-]{1,253})$/,
    'must be an IP address or a host name',
  );
