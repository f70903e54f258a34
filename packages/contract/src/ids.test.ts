import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  inputItemId,
  itemIdPrefixes,
  newCallId,
  newItemId,
  newRequestId,
  newResponseId,
  randomSuffix,
  responseIdOfItem,
  responseIdSchema,
} from './ids.ts';

const isId = (id: string) => responseIdSchema.safeParse(id).success;

describe('ids', () => {
  it('use every letter and digit equally often', () => {
    const every = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const counts = new Map<string, number>();
    // All bytes once: the eight that would favour the first letters are thrown away.
    for (const letter of randomSuffix(() => every, 248)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    expect(counts.size).toBe(62);
    expect(new Set(counts.values())).toEqual(new Set([4]));
  });

  it('ask for more bytes until they are long enough', () => {
    let asked = 0;
    const mostlyUseless = (size: number) =>
      Uint8Array.from({ length: size }, (_, at) => (at === 0 ? asked++ : 255));
    expect(randomSuffix(mostlyUseless, 5)).toBe('ABCDE');
  });

  it('of responses cannot be guessed and are never the same', () => {
    const ids = Array.from({ length: 1000 }, () => newResponseId(randomBytes));
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^create-response_[A-Za-z0-9]{32}$/);
    // 128 bits are 22 characters of 62.
    expect('create-response_'.length + 22).toBeLessThan(ids[0]?.length ?? 0);
  });

  it.each([
    ['', false],
    ['create-response_', false],
    ['create-response_short', false],
    [`create-response_${'a'.repeat(24)}`, true],
    [`create-response_${'a'.repeat(65)}`, false],
    [`resp_${'a'.repeat(32)}`, false],
    [`create-response_${'a'.repeat(31)}:`, false],
    [`create-response_${'a'.repeat(31)}\n`, false],
    [`create-response_${'a'.repeat(32)}\n`, false],
  ])('are told from anything else: %j', (id, expected) => {
    expect(isId(id)).toBe(expected);
  });

  it('of items lead to their response', () => {
    const responseId = newResponseId(randomBytes);
    for (const kind of Object.keys(itemIdPrefixes) as (keyof typeof itemIdPrefixes)[]) {
      const id = newItemId(kind, responseId, randomBytes); // the table's own keys
      expect(id.startsWith(itemIdPrefixes[kind])).toBe(true);
      expect(responseIdOfItem(id)).toBe(responseId);
      expect(newItemId(kind, responseId, randomBytes)).not.toBe(id);
    }
    expect(responseIdOfItem(inputItemId('message', responseId, 4095))).toBe(responseId);
    expect(inputItemId('web_search_call', responseId, 0)).toMatch(/^item_/);
    expect(inputItemId('message', responseId, 1)).toBe(inputItemId('message', responseId, 1));
  });

  it.each(['', 'msg_1', `msg_${'a'.repeat(64)}`, 'a'.repeat(40), `msg_${'a'.repeat(36)}:`])(
    'of items made elsewhere lead nowhere: %j',
    (id) => {
      expect(responseIdOfItem(id)).toBeUndefined();
    },
  );

  it('of calls fit the bound of the wire', () => {
    expect(newCallId(randomBytes)).toMatch(/^call_[A-Za-z0-9]{24}$/);
    expect(newRequestId(randomBytes)).toMatch(/^req_[A-Za-z0-9]{32}$/);
  });
});
