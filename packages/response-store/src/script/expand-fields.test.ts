import { describe, expect, it } from 'vitest';
import { expandFields } from './expand-fields.ts';

describe('fields in a script', () => {
  it('are read by name, with the types of the table', () => {
    expect(expandFields("local f = read(record, 'status seq stream')", 'append')).toBe(
      "local f = (function(v) return { status = v[1], seq = tonumber(v[2]), stream = v[3] == '1' }, v end)" +
        "(redis.call('HMGET', record, 'status', 'seq', 'stream'))",
    );
  });

  it('are read by a list that TypeScript has, too', () => {
    expect(expandFields('read(record, few)', 'claim', { few: ['token'] })).toContain(
      "redis.call('HMGET', record, 'token')",
    );
    expect(() => expandFields('read(record, few)', 'claim')).toThrow("no list of fields named 'few'");
  });

  it('are written by name, whatever stands in the values', () => {
    expect(expandFields("write(KEYS[1], { seq = f(1, 2), result = ', }' })", 'finish')).toBe(
      "redis.call('HSET', KEYS[1], 'seq', f(1, 2), 'result', ', }')",
    );
    expect(expandFields("add(record, 'attempt', -1)", 'release')).toBe(
      "redis.call('HINCRBY', record, 'attempt', -1)",
    );
    expect(expandFields("write_once(r, 'cancel', reason)", 'cancel')).toBe(
      "redis.call('HSETNX', r, 'cancel', reason)",
    );
    expect(expandFields("clear(r, 'left_at')", 'attach')).toBe("redis.call('HDEL', r, 'left_at')");
  });

  it('must stand in the table', () => {
    expect(() => expandFields("read(record, 'status speed')", 'claim')).toThrow("no field 'speed'");
    expect(() => expandFields('write(record, { speed = 1 })', 'claim')).toThrow("no field 'speed'");
  });

  it('are written by the transitions that the table names, and no others', () => {
    expect(() => expandFields('write(record, { result = 1 })', 'append')).toThrow(
      "The transition 'append' may not write the field 'result'",
    );
    expect(() => expandFields("clear(record, 'token')", 'attach')).toThrow("'attach' may not write");
  });

  it('leave other calls and comments alone', () => {
    const lua = "redis.call('HGET', key, 'x') spread(1) -- read(nothing";
    expect(expandFields(lua, 'claim')).toBe("redis.call('HGET', key, 'x') spread(1)");
  });
});
