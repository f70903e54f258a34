import type { InputItem } from '@sluice/contract';
import { expect, it } from 'vitest';
import { fileReferencesIn } from './file-references.ts';

it('finds the places of all parts that name files, and measures no stretch of an item twice', () => {
  const content = Array.from({ length: 1_000 }, (_, at) => [
    { type: 'input_text', text: `Ü ${at}` },
    { type: 'input_file', file_id: `file-${at}` },
  ]).flat();
  const item = { type: 'message', role: 'user', content } as InputItem; // as it was parsed
  const json = JSON.stringify(item);
  let measured = 0;
  const sizeOf = (text: string) => {
    measured += text.length;
    return Buffer.byteLength(text);
  };
  const found = fileReferencesIn(item, json, { from: 7, index: 0, sizeOf });
  expect(found).toHaveLength(1_000);
  const bytes = Buffer.from(json);
  for (const { fileId, start, end } of found) {
    expect(bytes.toString('utf8', start - 7, end - 7)).toBe(
      JSON.stringify({ type: 'input_file', file_id: fileId }),
    );
  }
  expect(measured).toBeLessThanOrEqual(json.length);
});
