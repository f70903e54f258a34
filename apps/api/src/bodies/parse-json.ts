import { ServiceError } from '@sluice/contract';
import { scanStructure } from './scan-structure.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A JSON text whose structure is within the limits. */
export interface JsonText {
  text: string;
  /** The members of all objects; one that is named twice counts twice. */
  members: number;
}

/**
 * Reads the text of a body, unless parsing it would cost more than `structureLimits` allow.
 *
 * @throws {ServiceError} `invalid_json` that says what is wrong, never quoting the body.
 */
export function decodeJson(body: Uint8Array): JsonText {
  const scan = scanStructure(body);
  if (scan.kind === 'refused') throw invalidJson(scan.message);
  return { text: decode(body), members: scan.members };
}

/**
 * Parses a text, and refuses what a JSON parser lets pass: a member named twice.
 *
 * @throws {ServiceError} `invalid_json` that says what is wrong, never quoting the body.
 */
export function parseJson({ text, members }: JsonText): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw error instanceof SyntaxError ? new ServiceError('invalid_json') : error;
  }
  if (countMembers(value) !== members) throw invalidJson('The request body names a member twice.');
  return value;
}

function decode(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch (error) {
    throw error instanceof TypeError ? invalidJson('The request body is not valid UTF-8.') : error;
  }
}

function invalidJson(message: string): ServiceError {
  return new ServiceError('invalid_json', message);
}

/** Counts the members of all objects in a value. There are fewer than were written when one was named twice. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const element of value) members += countMembers(element);
    return members;
  }
  if (Object.hasOwn(value, '__proto__')) throw invalidJson("The request body has a member '__proto__'.");
  for (const member of Object.values(value)) members += 1 + countMembers(member);
  return members;
}
