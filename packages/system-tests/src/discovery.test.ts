import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests } from '@sluice/testing';
import { afterAll, expect, it } from 'vitest';
import { type SluiceProcess, startProcess } from './sluice-process.ts';

const answer = [
  { choices: [{ index: 0, delta: { content: 'Hi from Ollama' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
];

/** An Ollama with one model, where one listens by default; undefined when something else listens there. */
async function ollama(): Promise<Server | undefined> {
  const server = createServer((request, response) => {
    if (request.url === '/v1/models') {
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'qwen3:8b', created: 1 }] }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(answer.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
  });
  const isListening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(11_434, '127.0.0.1', () => resolve(true));
  });
  return isListening ? server : undefined;
}

const server = await ollama();
const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-discovery-')));
let process: SluiceProcess | undefined;

afterAll(async () => {
  await process?.stop();
  server?.closeAllConnections();
  server?.close();
});

it.skipIf(!server)(
  'start offers the models of an Ollama on this machine, in all of its processes',
  async () => {
    const dataDir = join(folder.path, 'data');
    process = startProcess({
      command: 'start',
      cwd: folder.path,
      // The key is one of Sluice, and is left alone.
      env: {
        DATA_DIR: dataDir,
        PORT: '0',
        ADMIN_PORT: '0',
        SLUICE_DISCOVER: 'on',
        OPENAI_API_KEY: 'sk-sluice-dev-x',
      },
    });
    const [text] = await process.printed(/Sluice is ready\.[\s\S]*Ctrl-C stops it\./, { timeoutMs: 60_000 });
    expect(text).toMatch(/Models +simulator, simulator-reasoning, qwen3:8b/);
    expect(text).toMatch(
      /Found +Ollama at 127\.0\.0\.1:11434: 1 model\n +as .*discovered\.yaml says; SLUICE_DISCOVER=off/,
    );
    expect(text).not.toContain('OpenAI');

    const [, url = ''] = /Responses API +(http\S+)/.exec(text) ?? [];
    const [, key = ''] = /Key +(\S+)/.exec(text) ?? [];
    const created = await fetch(`${url}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'qwen3:8b', input: 'Hello!' }),
    });
    expect(await created.json()).toMatchObject({ status: 'completed', output_text: 'Hi from Ollama' });
    expect(await readFile(join(dataDir, 'discovered.yaml'), 'utf8')).not.toContain('sk-');

    const beside = startProcess({
      command: 'models',
      args: ['--json'],
      cwd: folder.path,
      env: { DATA_DIR: dataDir },
    });
    await beside.exited;
    expect(beside.output()).toContain('"model":"qwen3:8b"');
  },
);
