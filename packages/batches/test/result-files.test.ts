import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { folderWork, type Work } from '@sluice/files';
import { latch } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answered, expired, type LineResult, ResultFiles } from '../src/result-files.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-batch-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const tokens = { input: 10, cached: 4, output: 5, reasoning: 2 };
const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
};
const anAnswer = (customId: string) =>
  answered(customId, {
    status: 200,
    requestId: 'req_1',
    body: JSON.stringify({ id: customId, usage }),
    tokens,
  });
const textOf = ({ text }: LineResult) =>
  typeof text === 'string' ? text : Buffer.concat([...text]).toString('utf8');

/** Work that a process has left, with a result of each kind. */
async function workWithResults(): Promise<Work> {
  const work = await folderWork(folder);
  const first = await ResultFiles.open(work);
  await first.add('output', anAnswer('a'));
  await first.add('errors', expired('b'));
  await first.close();
  return work;
}

describe('the results of a batch', () => {
  it('are lines of two files', async () => {
    const results = await ResultFiles.open(await folderWork(join(folder, 'deep')));
    await results.add('output', anAnswer('a"b'));
    await results.add('errors', expired('c'));
    const { output, errors } = await results.close();
    const [line = ''] = (await readFile(output.path, 'utf8')).split('\n');
    expect(output.bytes).toBe(Buffer.byteLength(line) + 1);
    expect(JSON.parse(line)).toEqual({
      id: expect.stringMatching(/^batch_req_/),
      custom_id: 'a"b',
      response: { status_code: 200, request_id: 'req_1', body: { id: 'a"b', usage } },
      error: null,
    });
    expect(JSON.parse(await readFile(errors.path, 'utf8'))).toMatchObject({
      custom_id: 'c',
      response: null,
      error: { code: 'batch_expired', message: expect.any(String) },
    });
  });

  it('have long bodies that are made and written a piece at a time, beside everything else', async () => {
    const results = await ResultFiles.open(await folderWork(folder));
    const sizes = [1, 10, 200_000, 5, 65_536, 65_535, 30_000, 30_000, 30_000, 1];
    let others = 0;
    let othersBetween: number | undefined;
    function* body(): Generator<Buffer> {
      yield Buffer.from('["');
      void setImmediate().then(() => (others += 1));
      for (const size of sizes) yield Buffer.alloc(size, 'x');
      othersBetween = others;
      yield Buffer.from('"]');
    }
    await results.add(
      'output',
      answered('a', { status: 200, requestId: 'req_1', body: body(), tokens: undefined }),
    );
    await results.add('output', anAnswer('b'));
    expect(othersBetween).toBe(1);
    const { output } = await results.close();
    const text = await readFile(output.path, 'utf8');
    expect(output.bytes).toBe(text.length);
    const long = 'x'.repeat(sizes.reduce((sum, size) => sum + size));
    expect(text.split('\n').map((line) => line && (JSON.parse(line) as unknown))).toMatchObject([
      { custom_id: 'a', response: { body: [long] } },
      { custom_id: 'b', response: { body: { id: 'b' } } },
      '',
    ]);
  });

  it('are all that a process needs to go on, but for a line that was written in part', async () => {
    const first = await ResultFiles.open(await folderWork(folder));
    await first.add('output', anAnswer('a'));
    await first.add('output', anAnswer('b'));
    await first.add('errors', expired('c'));
    await first.sync();
    const names = await readdir(folder);
    const output = names.find((name) => name.startsWith('output')) ?? '';
    await appendFile(join(folder, output), textOf(anAnswer('d')).slice(0, -1));
    const second = await ResultFiles.open(await folderWork(folder));
    expect([...second.done].toSorted()).toEqual(['a', 'b', 'c']);
    expect(second.counts).toEqual({
      completed: 2,
      failed: 1,
      expired: 1,
      tokens: { input: 20, cached: 8, output: 10, reasoning: 4 },
    });
    // The process before does not know that it has lost the batch.
    await first.add('output', anAnswer('e'));
    await expect(first.close()).rejects.toThrow('ENOENT');
    await second.add('output', anAnswer('d'));
    const { path } = (await second.close()).output;
    const ids = (await readFile(path, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
    expect(ids).toEqual(['a', 'b', 'd']);
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('are whole when a process died while it copied those of another one', async () => {
    const first = await ResultFiles.open(await folderWork(folder));
    for (const id of ['a', 'b', 'c']) await first.add('output', anAnswer(id));
    await first.close();
    // It had copied one line, and a part of the next.
    const copied = `${textOf(anAnswer('a'))}\n${textOf(anAnswer('b')).slice(0, 20)}`;
    await writeFile(join(folder, 'output.2.jsonl'), copied);
    await writeFile(join(folder, 'errors.2.jsonl'), '');
    const next = await ResultFiles.open(await folderWork(folder));
    expect([...next.done].toSorted()).toEqual(['a', 'b', 'c']);
    expect(next.counts).toMatchObject({ completed: 3, failed: 0 });
    await next.close();
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('are not copied by halves when that fails, and are lost to no process that goes on', async () => {
    const own = await workWithResults();
    const before = await readdir(folder);
    const full = { ...own, save: () => Promise.reject(new Error('full')) };
    for (const _ of [1, 2]) await expect(ResultFiles.open(full)).rejects.toThrow('full');
    expect(await readdir(folder)).toEqual(before);
    const next = await ResultFiles.open(own);
    expect([...next.done].toSorted()).toEqual(['a', 'b']);
    await next.close();
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('are gone on with, and no more copies of them are made, where those before cannot be taken away', async () => {
    const own = await workWithResults();
    const kept = { ...own, drop: () => Promise.reject(new Error('away')) };
    const next = await ResultFiles.open(kept);
    expect([...next.done].toSorted()).toEqual(['a', 'b']);
    expect(next.counts).toMatchObject({ completed: 1, failed: 1 });
    await next.close();
    const last = await ResultFiles.open(own);
    expect(last.counts).toMatchObject({ completed: 1, failed: 1 });
    await last.close();
    expect(await readdir(folder)).toHaveLength(2);
  });

  it('are left while they are copied or taken away, and are lost to no process that goes on', async () => {
    const own = await folderWork(folder);
    const first = await ResultFiles.open(own);
    for (const id of ['a', 'b', 'c']) await first.add('output', anAnswer(id));
    await first.close();
    const before = await readdir(folder);
    const leaving = AbortSignal.abort(new Error('leaving'));
    await expect(ResultFiles.open(own, leaving)).rejects.toThrow('leaving');
    expect(await readdir(folder)).toEqual(before);
    const given: unknown[] = [];
    const away = new AbortController();
    const watched: Work = {
      ...own,
      save: (name, bytes, signal) => own.save(name, bytes).finally(() => given.push(signal)),
      drop: (_name, signal) => {
        given.push(signal);
        away.abort(new Error('leaving'));
        return Promise.reject(away.signal.reason as Error);
      },
    };
    await expect(ResultFiles.open(watched, away.signal)).rejects.toThrow('leaving');
    expect(given).toEqual([away.signal, away.signal, away.signal]);
    const next = await ResultFiles.open(own);
    expect([...next.done].toSorted()).toEqual(['a', 'b', 'c']);
    await next.close();
  });

  it('that could not be saved are told of once none is being saved any more', async () => {
    const [asked, rest] = [latch(), latch()];
    const told: string[] = [];
    const own = await folderWork(folder);
    let isAway = false;
    const save: Work['save'] = async (name, bytes) => {
      if (!isAway) return own.save(name, bytes);
      if (name.startsWith('output')) throw new Error('away');
      asked.open();
      await rest.wait();
      told.push('saved');
    };
    const results = await ResultFiles.open({ ...own, save });
    isAway = true;
    const saving = results.sync().catch((error: Error) => told.push(error.message));
    await asked.wait();
    await setImmediate(); // time to tell of it too early
    rest.open();
    await saving;
    expect(told).toEqual(['saved', 'away']);
    isAway = false;
    await results.close();
  });

  it('has the answer to a line once', async () => {
    const results = await ResultFiles.open(await folderWork(folder));
    await Promise.all([results.add('output', anAnswer('a')), results.add('errors', anAnswer('a'))]);
    expect(results.counts).toMatchObject({ completed: 1, failed: 0 });
    await results.close();
  });
});
