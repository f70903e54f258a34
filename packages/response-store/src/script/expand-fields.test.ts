import { describe, expect, it } from 'vitest';
import { expandFields, type WritingScript } from './expand-fields.ts';

/** A script that writes nothing, and one that writes these fields. */
const reader: WritingScript = { transition: 'look', by: 'attempt' };
const writer = (...writes: NonNullable<WritingScript['writes']>): WritingScript => ({ ...reader, writes });

describe('fields in a script', () => {
  it('are read by name, with the types of the table', () => {
    expect(expandFields("local f = read(record, 'status seq enqueued')", reader)).toBe(
      "local f = (function(v) return { status = v[1], seq = tonumber(v[2]), enqueued = v[3] == '1' }, v end)" +
        "(redis.call('HMGET', record, 'status', 'seq', 'enqueued'))",
    );
  });

  it('are taken out of the one value that holds the facts', () => {
    expect(expandFields("local f = read(record, 'status id weight')", reader)).toBe(
      "local f = (function(v) local _id, _weight = string.match(v[1] or '', " +
        String.raw`'^[^\n]*\n([^\n]*)\n[^\n]*\n[^\n]*\n[^\n]*\n[^\n]*\n([^\n]*)') ` +
        "return { status = v[2], id = (_id ~= '' and _id or nil), weight = tonumber(_weight) }, v end)" +
        "(redis.call('HMGET', record, 'facts', 'status'))",
    );
    const some = { ...writer('id', 'weight'), by: 'accept' as const };
    expect(() => expandFields('write(record, { id = id, weight = weight })', some)).toThrow(
      'Facts are written together; missing: version tenant',
    );
    expect(() => expandFields("clear(record, 'id')", some)).toThrow("'id' is one of the facts");
  });

  it('are read by a list that TypeScript has, too', () => {
    expect(expandFields('read(record, few)', reader, { few: ['token'] })).toContain(
      "redis.call('HMGET', record, 'token')",
    );
    expect(() => expandFields('read(record, few)', reader)).toThrow("no list of fields named 'few'");
  });

  it('are written by name, whatever stands in the values', () => {
    expect(expandFields("write(KEYS[1], { seq = f(1, 2), result = ', }' })", writer('seq', 'result'))).toBe(
      "redis.call('HSET', KEYS[1], 'seq', f(1, 2), 'result', ', }')",
    );
    expect(expandFields("add(record, 'attempt', -1)", writer('attempt'))).toBe(
      "redis.call('HINCRBY', record, 'attempt', -1)",
    );
    expect(expandFields("write_once(r, 'cancel', reason)", { ...writer('cancel'), by: 'caller' })).toBe(
      "redis.call('HSETNX', r, 'cancel', reason)",
    );
    expect(expandFields("clear(r, 'left_at')", writer('left_at'))).toBe("redis.call('HDEL', r, 'left_at')");
  });

  it('are kept as the arguments of the same names where the list has a word for them', () => {
    const script = { ...writer('token', 'worker', 'seq'), kept: ['token', 'worker'] as const };
    expect(expandFields('write(record, { kept, seq = 2 })', script)).toBe(
      "redis.call('HSET', record, 'token', token, 'worker', worker, 'seq', 2)",
    );
    expect(() => expandFields('write(record, { kept })', { ...script, writes: ['token'] })).toThrow(
      "writes the field 'worker' and does not say so",
    );
  });

  it('must stand in the table', () => {
    expect(() => expandFields("read(record, 'status speed')", reader)).toThrow("no field 'speed'");
    expect(() => expandFields('write(record, { speed = 1 })', reader)).toThrow("no field 'speed'");
  });

  it('are written by scripts that say so, and no others', () => {
    expect(() => expandFields('write(record, { result = 1 })', writer('seq'))).toThrow(
      "The script 'look' writes the field 'result' and does not say so",
    );
    expect(() => expandFields("clear(record, 'token')", reader)).toThrow("the field 'token' and does not");
  });

  it('are written by those whom the table names, and nobody else', () => {
    const script: WritingScript = { transition: 'attach', by: 'caller', writes: ['token'] };
    expect(() => expandFields("clear(record, 'token')", script)).toThrow(
      "The script 'attach' may not write the field 'token': it is by 'caller'",
    );
  });

  it('leave other calls and comments alone', () => {
    const lua = "redis.call('HGET', key, 'x') spread(1) -- read(nothing";
    expect(expandFields(lua, reader)).toBe("redis.call('HGET', key, 'x') spread(1)");
  });
});
