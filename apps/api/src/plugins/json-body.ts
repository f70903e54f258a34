import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';

/** Deepest nesting of a body. Whatever walks it later may recurse safely. */
const maxDepth = 64;

/** Most members and elements of a body, over all levels. */
const maxNodes = 200_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Takes bodies of `application/json` in UTF-8 and no others, and refuses what a JSON parser lets pass: broken
 * UTF-8, a member named twice, nesting that would exhaust the stack of anything recursive behind it.
 */
export function registerJsonBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      const bytes = body as Buffer; // `parseAs: 'buffer'`
      // Some clients name a content type where there is no content; routes that need a body ask for it.
      done(null, bytes.length === 0 ? undefined : parseJsonBody(bytes));
    } catch (error) {
      done(error as Error, undefined); // only errors are thrown above
    }
  });
  // Not before it is known who asks.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const encoding = request.headers['content-encoding'];
    const charset = /charset\s*=\s*"?([^;"\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      done(new ServiceError('unsupported_media_type', 'The body must not be compressed.'));
    } else if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
      done(new ServiceError('unsupported_media_type', 'The body must be encoded in UTF-8.'));
    } else {
      done();
    }
  });
}

/** @throws {ServiceError} `invalid_json` that says what is wrong, never quoting the body. */
export function parseJsonBody(body: Uint8Array): unknown {
  const text = decode(body);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ServiceError('invalid_json');
  }
  if (countMembers(value) !== countColons(text)) {
    throw invalidJson('The request body names a member twice.');
  }
  return value;
}

function decode(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch {
    throw invalidJson('The request body is not valid UTF-8.');
  }
}

function invalidJson(message: string): ServiceError {
  return new ServiceError('invalid_json', message);
}

/** Members of all objects in a value. Walks without recursion, which is what makes a deep body harmless. */
function countMembers(root: unknown): number {
  let members = 0;
  let nodes = 0;
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw invalidJson(`The request body is nested deeper than ${maxDepth} levels.`);
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      const children = Object.values(value);
      if (!Array.isArray(value)) {
        if (Object.hasOwn(value, '__proto__'))
          throw invalidJson("The request body has a member '__proto__'.");
        members += children.length;
      }
      nodes += children.length;
      if (nodes > maxNodes) throw invalidJson('The request body has too many members.');
      for (const child of children) if (typeof child === 'object') next.push(child);
    }
    level = next;
  }
  return members;
}

const quote = 34;
const colon = 58;
const backslash = 92;

/** Colons outside of strings: as many as there are members, counting repeated ones. Strings are skipped whole. */
function countColons(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === colon) colons += 1;
    else if (code === quote) at = endOfString(text, at + 1);
  }
  return colons;
}

/** Position of the quote that ends a string, given where its content begins. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); ; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
}
