import { execFile, execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';
import { bareEnvironment } from './sluice-process.ts';

// The examples of docs/clients.md run here unchanged. Only the address, the key and an id come from the environment.

const page = readFileSync(fileURLToPath(new URL('../../../docs/clients.md', import.meta.url)), 'utf8');

/** The fenced blocks of a language, in order. */
function blocksOf(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
}

const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', 'import openai'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const service = testService(() => ({ settings: { files: { enabled: true }, usage: { enabled: true } } }));

async function run(command: string, args: readonly string[], id = ''): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, {
    // The packages are found from here.
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: {
      ...bareEnvironment(),
      OPENAI_BASE_URL: `${service.apiUrls[0]}/v1`,
      OPENAI_API_KEY: service.key,
      ID: id,
    },
  });
  return stdout;
}

const runBlock = (at: number) =>
  run(process.execPath, ['--input-type=module', '--eval', blocksOf('js')[at] ?? expect.unreachable()]);

describe('the examples of the page on clients', () => {
  it('follow a response that is in the background', async () => {
    const output = await runBlock(0);
    expect(output).toMatch(/^2 response\.in_progress$/m);
    expect(output).toMatch(/^\d+ response\.completed\ncompleted .*Take your time/m);
    expect(output).not.toContain('response.created');
  });

  it.skipIf(!hasPython)('use the client for Python (needs the package openai)', async () => {
    const output = await run('python3', ['-c', blocksOf('python')[0] ?? expect.unreachable()]);
    expect(output).toContain('Hello!');
    expect(output).toContain('Hello again!');
  });

  it.skipIf(!hasPython)('take a chat completion with it (needs the package openai)', async () => {
    const output = await run('python3', ['-c', blocksOf('python')[1] ?? expect.unreachable()]);
    expect(output).toContain('Hello!');
  });

  it.skipIf(!hasPython)('make embeddings with it (needs the package openai)', async () => {
    expect(await run('python3', ['-c', blocksOf('python')[2] ?? expect.unreachable()])).toBe('[256, 256]\n');
  });

  it('create and stream', async () => {
    const output = await runBlock(1);
    expect(output).toContain('Hello!');
    expect(output).toContain('Hello again!');
  });

  it('follow and wait', async () => {
    const output = await runBlock(2);
    expect(output).toMatch(/^2 response\.in_progress$/m);
    expect(output).toMatch(/^\d+ response\.completed\ncompleted .*Take your time/m);
  });

  it('show a chat', async () => {
    const output = await runBlock(3);
    expect(output).toMatch(/text: '.*Hello!.*',[^}]*state: 'done'/);
    expect(output).toMatch(/^null$/m);
  });

  it('read a durable stream', async () => {
    expect(await runBlock(4)).toMatch(
      /^0 response\.created\n[\s\S]*\d+ response\.completed\n0{14}\d\d true\n$/,
    );
  });

  it('repeat a request with the client of OpenAI', async () => {
    expect(await runBlock(5)).toBe('true\n');
  });

  it('give the AI SDK the `fetch` that is tested with it', () => {
    const tested = new URL('../../client-tests/clients/fetch-once.ts', import.meta.url);
    expect(blocksOf('ts')).toContain(readFileSync(tested, 'utf8'));
  });

  it('read one with curl', async () => {
    const { final } = await service.caller.stream({ input: 'Hello!' });
    const output = await run('sh', ['-ec', blocksOf('sh')[0] ?? expect.unreachable()], final.id);
    expect(output).toMatch(/200 OK[\s\S]*stream-closed: true[\s\S]*\[\{"type":"response\.created"/i);
    expect(output).toMatch(/204 No Content[\s\S]*stream-closed: true/i);
    expect(output).toMatch(/event: control\ndata: \{.*"streamClosed":true.*\}\n\n$/);
  });

  it('make an endpoint of webhooks', async () => {
    const output = await run('sh', ['-ec', blocksOf('sh')[1] ?? expect.unreachable()]);
    expect(JSON.parse(output)).toMatchObject({
      object: 'webhook_endpoint',
      signing_secret: expect.stringMatching(/^whsec_/),
    });
  });

  it('verify what a webhook tells', async () => {
    const { final } = await service.caller.stream({ input: 'Hello!' });
    const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
    const body = JSON.stringify({ type: 'response.completed', data: { id: final.id } });
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', Buffer.alloc(32))
      .update(`evt_1.${timestamp}.${body}`)
      .digest('base64');
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    };
    const program = `import OpenAI from 'openai';
      const client = new OpenAI();
      const { body, headers, secret } = ${JSON.stringify({ body, headers, secret })};
      ${blocksOf('js')[6] ?? expect.unreachable()}`;
    const output = await run(process.execPath, ['--input-type=module', '--eval', program]);
    expect(output).toContain('Hello!');
  });

  it('run a batch', async () => {
    const file = join(dirname(service.file), 'night.jsonl');
    const body = { model: 'simulator', input: 'Good night!' };
    await writeFile(file, JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body }));
    const program = `import OpenAI from 'openai';
      import { createReadStream as open } from 'node:fs';
      const client = new OpenAI();
      const createReadStream = () => open(${JSON.stringify(file)});
      ${blocksOf('js')[7] ?? expect.unreachable()}`;
    const output = await run(process.execPath, ['--input-type=module', '--eval', program]);
    expect(JSON.parse(output)).toMatchObject({ custom_id: 'a', response: { body: { status: 'completed' } } });
  });

  it('ask for usage and for what it cost', async () => {
    const program = `import OpenAI from 'openai';
      const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey } = process.env;
      ${blocksOf('js')[8] ?? expect.unreachable()}
      console.log(JSON.stringify(data));
      ${blocksOf('js')[9] ?? expect.unreachable()}`;
    const output = await run(process.execPath, ['--input-type=module', '--eval', program]);
    const [usage = '', costs] = output.split('\n');
    expect(JSON.parse(usage)).toHaveLength(7);
    expect(costs).toMatch(/^\[/);
  });

  it('are all of them', () => {
    expect({
      js: blocksOf('js').length,
      python: blocksOf('python').length,
      sh: blocksOf('sh').length,
    }).toEqual({
      js: 10,
      python: 3,
      sh: 2,
    });
  });
});
