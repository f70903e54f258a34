import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '@sluice/config';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { discoveredSettings, writeDiscoveredSettings } from './discovered-settings.ts';
import type { FoundUpstream } from './find-upstreams.ts';

const openAi: FoundUpstream = {
  provider: {
    id: 'openai',
    type: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    apiKey: '${OPENAI_API_KEY}',
  },
  models: ['gpt-5', 'simulator'],
};
const ollama: FoundUpstream = {
  provider: { id: 'ollama', type: 'openai-chat', baseUrl: 'http://127.0.0.1:11434/v1' },
  models: ['qwen3:8b', 'gpt-5'],
  concurrency: 4,
};

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-discovered-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('the settings file of what was found', () => {
  it('loads, has the simulator first, one queue for each upstream, and no key', async () => {
    const text = discoveredSettings([openAi, ollama]);
    const env = { OPENAI_API_KEY: 'sk-secret' };
    const settings = loadSettings({ env, argv: [], cwd: '/srv', readFile: () => text });
    expect(settings.models.map(({ id, queue }) => [id, queue])).toEqual([
      ['simulator', 'simulator'],
      ['simulator-reasoning', 'simulator-reasoning'],
      ['gpt-5', 'openai'],
      ['qwen3:8b', 'ollama'],
    ]);
    expect(settings.providers).toContainEqual(expect.objectContaining({ id: 'openai', apiKey: 'sk-secret' }));
    expect(text).not.toContain('sk-secret');
  });

  it('is readable by its owner alone, and left as it is when nothing has changed', async () => {
    const path = await writeDiscoveredSettings(directory, [ollama]);
    const written = await stat(path);
    expect(written.mode & 0o077).toBe(0);
    expect(await writeDiscoveredSettings(directory, [ollama])).toBe(path);
    expect((await stat(path)).ino).toBe(written.ino);
    await writeDiscoveredSettings(directory, [openAi]);
    expect(await readFile(path, 'utf8')).toContain('api.openai.com');
    expect(await readdir(directory)).toEqual(['discovered.yaml']);
  });
});
