import { describe, expect, it } from 'vitest';
import { isObjectJson, ObjectScan } from './object-scan.ts';

const objects = [
  '{}',
  ' \n{ }\t\r\n',
  '{"a":1}',
  '{"a":-0.5e+10,"b":[0,10,1E2,-1],"c":{"d":[]},"e":[[],{}]}',
  '{"":"","\\u00e9\\"\\\\\\/\\b\\f\\n\\r\\t":"é€😀\\ud800"}',
  '{"a":true,"b":false,"c":null , "d" : [ true , null ] }',
  `{"deep":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
];

const others = [
  '',
  ' ',
  '[]',
  '1',
  'null',
  '"{}"',
  '{',
  '{"a"',
  '{"a":',
  '{"a":}',
  '{"a":1',
  '{"a":1,}',
  '{,}',
  '{"a" 1}',
  '{"a"::1}',
  "{'a':1}",
  '{a:1}',
  '{"a":01}',
  '{"a":1.}',
  '{"a":.5}',
  '{"a":+1}',
  '{"a":1e}',
  '{"a":1e+}',
  '{"a":-}',
  '{"a":--1}',
  '{"a":tru}',
  '{"a":truely}',
  '{"a":nul1}',
  '{"a":[1,]}',
  '{"a":[,]}',
  '{"a":[1 2]}',
  '{"a":[1}',
  '{"a":[1}]',
  '{"a":{]}',
  '{"a":"b}',
  '{"a":"\n"}',
  '{"a":"\\x"}',
  '{"a":"\\u12g4"}',
  '{"a":"\\u12"}',
  '{"a":1}}',
  '{"a":1}{}',
  '{} x',
  '\ufeff{}',
];

/** What the parser of the platform says. */
function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

describe('the scan of an object', () => {
  it.each(objects)('takes %j', (json) => {
    expect([isObjectJson(json), isObject(json)]).toEqual([true, true]);
  });

  it.each(others)('does not take %j', (json) => {
    expect([isObjectJson(json), isObject(json)]).toEqual([false, false]);
  });

  it('says the same wherever the text is cut', () => {
    for (const json of [...objects.slice(0, -1), ...others]) {
      const bytes = new TextEncoder().encode(json);
      for (let at = 0; at <= bytes.length; at += 1) {
        const scan = new ObjectScan();
        scan.take(bytes.subarray(0, at));
        scan.take(bytes.subarray(at));
        expect(scan.isWhole, `${json} at ${at}`).toBe(isObject(json));
      }
    }
  });

  it('agrees with the parser about texts that were changed in one place', () => {
    const base = objects[3] ?? '';
    for (let at = 0; at < base.length; at += 1) {
      for (const put of ['', '"', '}', ']', ',', ':', '0', '-', 'e', '.', '\\', ' ', 'x']) {
        const json = base.slice(0, at) + put + base.slice(at + 1);
        expect(isObjectJson(json), json).toBe(isObject(json));
      }
    }
  });

  it('knows early that a text is none', () => {
    const scan = new ObjectScan();
    scan.take(new TextEncoder().encode('{"a":1}x'));
    expect(scan.isBroken).toBe(true);
  });
});
