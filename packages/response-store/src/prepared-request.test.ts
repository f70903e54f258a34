import type { CreateResponse, InputItem } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { type PreparedRequest, prepareRequest, replaceIn } from './prepared-request.ts';

const message = (content: string): InputItem => ({ type: 'message', role: 'user', content });
const reference = (id: string): InputItem => ({ type: 'item_reference', id });

function requestOf(...input: InputItem[]): CreateResponse {
  return { model: 'm', temperature: 0.5, input };
}

const textOf = ({ input }: Pick<PreparedRequest, 'input'>) => Buffer.from(input).toString();
const digestOf = (request: CreateResponse) => prepareRequest(request, { withDigest: true }).digest;

describe('a prepared request', () => {
  it.each<[string, InputItem[]]>([
    ['nothing', []],
    ['one item', [message('Hi')]],
    ['several', [message('\u20ac'), message('\ud800 \u{1F600}\n'), message('x'.repeat(10_000))]],
  ])('has %s of input as JSON, as a text and as bytes', (_what, input) => {
    const request = requestOf(...input);
    for (const options of [{}, { inputBytes: 0 }, { inputBytes: 10 }, { inputBytes: 100_000 }]) {
      const prepared = prepareRequest(request, { withDigest: false, ...options });
      expect(JSON.parse(textOf(prepared))).toEqual(JSON.parse(JSON.stringify(input)));
      expect(textOf(prepared)).toBe(Buffer.from(JSON.stringify(input)).toString());
      expect(JSON.parse(prepared.requestJson)).toEqual(prepared.request);
      expect(prepared.request).toEqual({ model: 'm', temperature: 0.5 });
    }
  });

  it('names what points at other items, in order', () => {
    const { links } = prepareRequest(
      requestOf(
        message('\u20ac'),
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        reference('msg_1'),
        { type: 'function_call_output', call_id: 'c1', output: 'x'.repeat(1_000) },
      ),
      { withDigest: false },
    );
    expect(links).toEqual([
      { type: 'function_call', call_id: 'c1' },
      { type: 'item_reference', id: 'msg_1', start: expect.any(Number), end: expect.any(Number) },
      { type: 'function_call_output', call_id: 'c1' },
    ]);
  });

  it('has items put in the place of references to them', () => {
    const request = requestOf(reference('a'), message('\u20ac'), reference('b'), reference('a'));
    const jsonOf = (id: string) => JSON.stringify({ is: `${id} \u20ac` });
    for (const options of [{}, { inputBytes: 10 }]) {
      const prepared = prepareRequest(request, { withDigest: false, ...options });
      const replacements = prepared.links.flatMap((link) =>
        link.type === 'item_reference' ? [{ ...link, json: jsonOf(link.id) }] : [],
      );
      const input = replaceIn(prepared.input, replacements);
      expect(JSON.parse(textOf({ input }))).toEqual([
        { is: 'a \u20ac' },
        message('\u20ac'),
        { is: 'b \u20ac' },
        { is: 'a \u20ac' },
      ]);
    }
  });

  it('names the parts that stand for files, where they stand', () => {
    const text = { type: 'input_text' as const, text: '\u20ac {"type":"input_file","file_id":"file-1"}' };
    const image = { type: 'input_image' as const, file_id: 'file-2', detail: 'low' as const };
    const file = { type: 'input_file' as const, filename: 'a.pdf', file_id: 'file-1' };
    const own = { type: 'input_file' as const, file_data: 'YQ==', file_id: 'file-3' };
    const request = requestOf(
      { type: 'message', role: 'user', content: [text, image, own, file, file] },
      { type: 'function_call_output', call_id: 'c1', output: [image] },
    );
    for (const options of [{}, { inputBytes: 10 }]) {
      const prepared = prepareRequest(request, { withDigest: false, ...options });
      const { files = [] } = prepared;
      expect(files).toMatchObject([
        { kind: 'input_image', fileId: 'file-2', detail: 'low', param: 'input[0].content[1].file_id' },
        { kind: 'input_file', fileId: 'file-1', filename: 'a.pdf', param: 'input[0].content[3].file_id' },
        { kind: 'input_file', param: 'input[0].content[4].file_id' },
        { kind: 'input_image', param: 'input[1].output[0].file_id' },
      ]);
      const input = replaceIn(
        prepared.input,
        files.map((each, at) => ({ ...each, json: JSON.stringify({ at }) })),
      );
      expect(JSON.parse(textOf({ input }))).toMatchObject([
        { content: [text, { at: 0 }, own, { at: 1 }, { at: 2 }] },
        { output: [{ at: 3 }] },
      ]);
    }
  });

  it('names the parts that stand for files, however many', () => {
    const content = Array.from({ length: 200_000 }, () => ({
      type: 'input_file' as const,
      file_id: 'file-1',
    }));
    const prepared = prepareRequest(requestOf({ type: 'message', role: 'user', content }), {
      withDigest: false,
    });
    expect(prepared.files).toHaveLength(content.length);
  });

  it('has one digest for requests that ask for the same', () => {
    const plain = digestOf(requestOf(message('Hi')));
    expect(digestOf({ ...requestOf(message('Hi')), stream: true })).toBe(plain);
    expect(digestOf({ input: [message('Hi')], temperature: 0.5, model: 'm' })).toBe(plain);
    expect(digestOf(requestOf({ content: 'Hi', role: 'user', type: 'message' }))).toBe(plain);
    expect(prepareRequest(requestOf(message('Hi')), { withDigest: true, inputBytes: 10 }).digest).toBe(plain);
    expect(digestOf(requestOf(message('Ho')))).not.toBe(plain);
    expect(digestOf(requestOf(message('Hi'), message('Hi')))).not.toBe(plain);
    for (const other of [{ temperature: 0.6 }, { background: true }, { metadata: { a: 'b' } }])
      expect(digestOf({ ...requestOf(message('Hi')), ...other })).not.toBe(plain);
  });
});
