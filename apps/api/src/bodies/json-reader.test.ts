import { describe, expect, it, vi } from 'vitest';
import { JsonReader, type JsonReaderParts } from './json-reader.ts';

function reader() {
  const prepare = vi.fn<JsonReaderParts['threads']['prepare']>();
  const unused = () => Promise.reject(new Error('not used here'));
  const threads = {
    prepare,
    prepareFrame: unused,
    readMessages: unused,
    readLine: unused,
    pickItems: unused,
    pickPage: unused,
    pickUserMessages: unused,
  };
  const made = new JsonReader({ threads, counting: { countTokens: unused }, sealingKeys: () => [] });
  return { prepare, made };
}

const bodyOf = (input: unknown) => {
  const text = JSON.stringify({ model: 'm', input });
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
};
const message = (content: string) => ({ type: 'message', role: 'user', content });

describe('a body', () => {
  it.each<[string, unknown]>([
    ['is short', 'Hi'],
    ['is a long text', 'Say "this".\n'.repeat(15_000)],
    ['is a conversation of some turns', Array.from({ length: 100 }, () => message('x'.repeat(2_000)))],
  ])('is read on the event loop when it %s', async (_what, input) => {
    const { prepare, made } = reader();
    const prepared = await made.prepare(bodyOf(input), { tenant: 'a' });
    expect(JSON.parse(String(prepared.input))).toHaveLength(Array.isArray(input) ? input.length : 1);
    expect(prepare).not.toHaveBeenCalled();
  });

  it.each<[string, unknown]>([
    ['very long', 'x'.repeat(300_000)],
    ['of many members', Array.from({ length: 1_000 }, () => message('x'.repeat(50)))],
  ])('is read in a thread when it is %s', async (_what, input) => {
    const { prepare, made } = reader();
    await made.prepare(bodyOf(input), { tenant: 'a' });
    expect(prepare).toHaveBeenCalledOnce();
  });
});
