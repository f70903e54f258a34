import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';
import { linesOfJson, startProcess } from './sluice-process.ts';

const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-batch-')));
const service = testService(() => ({
  settings: {
    files: { enabled: true, batchLines: 1, batchResultBytes: 20_000 },
    providers: [{ id: 'simulator', type: 'simulator', tokensPerSecond: 0 }],
    models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
  },
}));

const command = (...args: string[]) =>
  startProcess({
    command: 'batch',
    args: [...args, '--url', service.apiUrls[0] ?? ''],
    env: { SLUICE_API_KEY: service.key },
    cwd: folder.path,
  });

async function ran(...args: string[]): Promise<{ code: number | null; output: string }> {
  const process = command(...args);
  const { code } = await process.exited;
  return { code, output: process.output() };
}

const lineOf = (custom_id: string, body: object) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/responses', body: { model: 'simulator', ...body } });

async function aFile(name: string, lines: readonly string[]): Promise<void> {
  await writeFile(join(folder.path, name), `${lines.join('\n')}\n`);
}

async function idsIn(name: string): Promise<string[]> {
  const text = await readFile(join(folder.path, name), 'utf8');
  return linesOfJson<{ custom_id: string }>(text)
    .map(({ custom_id: id }) => id)
    .toSorted();
}

describe('sluice batch run', () => {
  it('runs the lines of a file and writes their answers beside it, once for each content', async () => {
    await aFile('right.jsonl', [lineOf('a', { input: 'Hi' }), lineOf('b', { input: 'Hello' })]);
    const first = await ran('run', 'right.jsonl');
    expect(first).toMatchObject({ code: 0, output: expect.stringMatching(/^Runs as batch_/) });
    expect(first.output).toContain(`2 answers are in ${join(folder.path, 'right.answers.jsonl')}.`);
    expect(await idsIn('right.answers.jsonl')).toEqual(['a', 'b']);
    const second = await ran('run', 'right.jsonl', '--json');
    expect(second).toMatchObject({ code: 0, output: expect.stringMatching(/^Goes on with batch_/) });
    const idOf = (text: string) => /batch_\w+/.exec(text)?.[0];
    expect(idOf(second.output)).toBe(idOf(first.output));
    const again = await ran('run', 'right.jsonl', '--again');
    expect(again.code).toBe(0);
    expect(idOf(again.output)).not.toBe(idOf(first.output));
  });

  it('goes on with a batch that it was killed over', async () => {
    await aFile('slow.jsonl', [lineOf('a', { input: 'Hi [[sluice: first_token_ms=2000]]' })]);
    const killed = command('run', 'slow.jsonl');
    const [, id = ''] = await killed.printed(/Runs as (batch_\w+)/);
    await killed.kill();
    const next = await ran('run', 'slow.jsonl');
    expect(next).toMatchObject({ code: 0, output: expect.stringContaining(`Goes on with ${id}`) });
    expect(await idsIn('slow.answers.jsonl')).toEqual(['a']);
  });

  it('ends with 1 and says which lines have failed', async () => {
    await aFile('partly.jsonl', [
      lineOf('a', { input: 'Hi' }),
      lineOf('b', { input: 'Hi [[sluice: fail=server_error]]' }),
    ]);
    const { code, output } = await ran('run', 'partly.jsonl');
    expect(code).toBe(1);
    expect(output).toContain(
      `1 of 2 lines have failed: ${join(folder.path, 'partly.errors.jsonl')} says why.`,
    );
    expect(await idsIn('partly.answers.jsonl')).toEqual(['a']);
    expect(await idsIn('partly.errors.jsonl')).toEqual(['b']);
  });

  it('says what is wrong with a file that is refused, by line', async () => {
    await aFile('wrong.jsonl', [lineOf('a', { input: 'Hi' }), lineOf('a', { input: 'Hi' })]);
    const { code, output } = await ran('run', 'wrong.jsonl');
    expect(code).toBe(1);
    expect(output).toContain('nothing of it has run');
    expect(output).toContain("line 2: 'custom_id' is that of line 1. (custom_id)");
  });

  it('says how far a batch came whose results are too large, and why it ended', async () => {
    await aFile('long.jsonl', [
      lineOf('a', { input: 'Hi [[sluice: tokens=6000]]' }),
      lineOf('b', { input: 'Hi' }),
    ]);
    const { code, output } = await ran('run', 'long.jsonl');
    expect(code).toBe(1);
    expect(output).toContain('The batch failed behind 1 of 2 lines.');
    expect(output).toContain('The results have 20000 bytes or more');
    expect(await idsIn('long.answers.jsonl')).toEqual(['a']);
  });

  it.each([
    [['run'], 2, "'run' needs a file"],
    [['walk', 'x'], 2, "there is no command 'walk'"],
    [['run', 'absent.jsonl'], 1, 'absent.jsonl cannot be read (ENOENT)'],
  ])('of %j is refused', async (args, code, words) => {
    expect(await ran(...args)).toMatchObject({ code, output: expect.stringContaining(words) });
  });

  it('of a file that is none of a batch names what is missing', async () => {
    await aFile('text.jsonl', ['Hello']);
    const { code, output } = await ran('run', 'text.jsonl');
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining("with a 'url'") });
  });
});
