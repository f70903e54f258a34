import { Readable } from 'node:stream';
import type { FileObject } from '@sluice/contract';
import type { FileReference } from '@sluice/response-store';
import { expect, it } from 'vitest';
import { InputFiles } from './input-files.ts';

const referencesTo = (fileIds: readonly string[]): FileReference[] =>
  fileIds.map((fileId, at) => ({
    kind: 'input_file',
    fileId,
    filename: undefined,
    detail: undefined,
    param: `input[0].content[${at}].file_id`,
    start: 0,
    end: 0,
  }));

/** Files of a few bytes, and the ids that were looked up. */
function inputFiles() {
  const lookedUp: string[] = [];
  const fileOf = (id: string) => ({ id, bytes: 3, purpose: 'user_data', filename: 'a.txt' }) as FileObject; // what is looked at
  const content = () => Readable.from([Buffer.from('abc')]);
  const files = {
    get: (_tenant: string, id: string) => {
      lookedUp.push(id);
      return Promise.resolve(fileOf(id));
    },
    readWith: <Result>(
      _tenant: string,
      id: string,
      take: (file: FileObject, of: Readable) => Promise<Result>,
    ) => take(fileOf(id), content()),
  };
  return { lookedUp, inputs: new InputFiles({ files, mostBytes: () => 1_000 }) };
}

it('looks a file up once, however many parts of an input name it', async () => {
  const { lookedUp, inputs } = inputFiles();
  const parts = await inputs.partsOf('t', referencesTo(['a', 'b', 'a', 'a']), () => undefined);
  expect(parts).toHaveLength(4);
  expect(lookedUp).toEqual(['a', 'b']);
});

it('refuses an input that names too many files before it looks for any', async () => {
  const { lookedUp, inputs } = inputFiles();
  const references = referencesTo(Array.from({ length: 129 }, (_, at) => `file-${at}`));
  await expect(inputs.partsOf('t', references, () => undefined)).rejects.toMatchObject({
    code: 'invalid_value',
    param: 'input[0].content[128].file_id',
  });
  expect(lookedUp).toEqual([]);
});
