import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '@sluice/testing';
import { expect, it } from 'vitest';
import type { RedisCommands } from '../record/connection.ts';
import { defineScript } from './define-script.ts';

it('runs a script as its file was when it was defined, although an upgrade has put another one in its place', async () => {
  const path = join(temporaryFolder(), 'look.lua');
  await writeFile(path, "return 'as defined'");
  const run = defineScript({ by: 'attempt', file: pathToFileURL(path), keys: ['record'], args: [] });
  await writeFile(path, "return 'of the next release'");
  const texts: unknown[] = [];
  // A script uses nothing of a connection but what is here.
  const redis = {
    evalsha: () => Promise.reject(new Error('NOSCRIPT No matching script.')),
    eval: (text: string) => Promise.resolve(texts.push(text)),
  } as unknown as RedisCommands;
  await run(redis, { keys: { record: 'r' }, args: {} });
  expect(texts).toEqual([expect.stringMatching(/return 'as defined'$/)]);
});
