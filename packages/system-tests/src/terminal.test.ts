import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';
import {
  linesOfJson,
  type SluiceProcess,
  type SluiceProcessOptions,
  startProcess,
} from './sluice-process.ts';

const service = testService();

function responses(args: readonly string[], env: Record<string, string> = {}, cwd?: string): SluiceProcess {
  const known = { SLUICE_URL: service.apiUrls[0] ?? '', SLUICE_API_KEY: service.key };
  return startProcess({
    command: 'responses',
    args,
    env: { ...known, ...env },
    ...(cwd !== undefined && { cwd }),
  });
}

const newFolder = () => mkdtempDisposable(join(tmpdir(), 'sluice-terminal-'));

/** Runs a command to its end. */
async function said(process: SluiceProcess): Promise<{ code: number | null; out: string; errors: string }> {
  const { code } = await process.exited;
  const errors = process.errors();
  return { code, out: process.output().replace(errors, ''), errors };
}

const inBackground = (input: string, more: object = {}) =>
  service.caller.create({ input, background: true, ...more }).then(({ body }) => body.id);

/** A background stream that has begun, and the promise of its end. */
async function streaming(input: string): Promise<{ id: string; ended: Promise<unknown> }> {
  const begun = latch<string>();
  const ended = service.caller.stream(
    { input, background: true },
    {
      onEvent: (event) => {
        if (event.response) begun.open(event.response.id);
      },
    },
  );
  return { id: await begun.wait(), ended };
}

describe('sluice responses', () => {
  it('get shows one response, for people or as JSON', async () => {
    const { body } = await service.caller.create({ input: 'Hello!' });
    const shown = await said(responses(['get', body.id]));
    expect(shown).toMatchObject({ code: 0, errors: '' });
    expect(shown.out).toMatch(/^id +create-response_\w+\nstatus +completed\nmodel +simulator\n/);
    expect(shown.out).toContain(body.output_text);
    const { out } = await said(responses(['get', body.id, '--json']));
    expect(JSON.parse(out)).toEqual(body);
  });

  it('list shows the newest first, and the rest behind an id', async () => {
    const ids = [];
    for (let at = 0; at < 3; at += 1)
      ids.unshift((await service.caller.create({ input: `Number ${at}` })).body.id);
    const idsIn = (text: string) => text.match(/create-response_\w+/g) ?? [];
    const first = await said(responses(['list', '--limit', '2']));
    expect(idsIn(first.out).slice(0, 2)).toEqual(ids.slice(0, 2));
    expect(first.out).toContain(`--after ${ids[1]}`);
    const rest = await said(responses(['list', '--limit', '1', '--after', ids[1] ?? '', '--json']));
    expect((JSON.parse(rest.out) as { id: string }).id).toBe(ids[2]);
  });

  it('tail follows a stream while it is generated, cancel ends it, and tail goes on behind an event', async () => {
    const { id, ended } = await streaming('[[sluice: tokens=2000 tokens_per_second=20]]');
    const process = responses(['tail', id, '--json']);
    await process.printed(/response\.output_text\.delta/);
    expect((await said(responses(['cancel', id]))).out).toMatch(/^status +cancelled$/m);
    const whole = await said(process);
    await ended;
    const events = linesOfJson<{ sequence_number: number }>(whole.out);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    const last = events.length - 1;
    const rest = await said(responses(['tail', id, '--after', String(last - 2), '--json']));
    expect(rest.out.trim().split('\n')).toHaveLength(2);
    expect(await said(responses(['tail', id, '--after', String(last)]))).toEqual({
      code: 0,
      out: '\n',
      errors: 'Nothing came after that event.\n',
    });
  });

  it('tail prints the text, and says that a response has failed', async () => {
    const id = await inBackground('[[sluice: fail=model_error after=3]]');
    const { code, errors } = await said(responses(['tail', id]));
    expect(code).toBe(1);
    expect(errors).toMatch(/^sluice: The response failed; /);
  });

  it('says in one line what went wrong', async () => {
    const lines: [string[], Record<string, string>, number, RegExp][] = [
      [['get', 'create-response_unknown'], {}, 1, /^sluice: The service answered 404: /],
      [['get'], {}, 2, /^sluice: an id is missing; /],
      [['fetch', 'x'], {}, 2, /^sluice: there is no command 'fetch'; /],
      [['list', '--limti', '2'], {}, 2, /^sluice: Unknown option '--limti'/],
      [['list'], { SLUICE_URL: 'http://127.0.0.1:1' }, 1, /^sluice: Nothing answers at http:\/\/127/],
      [['list'], { SLUICE_API_KEY: 'sk-wrong' }, 1, /^sluice: The service answered 401: /],
    ];
    for (const [args, env, code, message] of lines) {
      const result = await said(responses(args, env));
      expect(result).toMatchObject({ code, out: '', errors: expect.stringMatching(message) });
      expect(result.errors.trim().split('\n')).toHaveLength(1);
    }
  });

  it('takes a variable that is set to nothing as not set', async () => {
    await using folder = await newFolder();
    const { code, errors } = await said(
      responses(['list'], { SLUICE_API_KEY: '', DATA_DIR: '' }, folder.path),
    );
    expect([code, errors]).toEqual([2, expect.stringMatching(/an API key is missing/)]);
  });

  it('finds the development key where the service was told to keep it', async () => {
    await using folder = await newFolder();
    const settings = { keyPrefix: `${service.redis.prefix}:own:`, dataDir: './kept-here' };
    await writeFile(join(folder.path, 'own.yaml'), JSON.stringify(settings));
    const env = { SLUICE_CONFIG: 'own.yaml', REDIS_URL: service.redis.url, PORT: '0', ADMIN_PORT: '0' };
    const api = startProcess({ command: 'api', env, cwd: folder.path });
    try {
      const { url: ownUrl } = await api.logged('api ready', { timeoutMs: 60_000 });
      const told = { SLUICE_URL: String(ownUrl), SLUICE_API_KEY: '' };
      const byVariable = await said(responses(['list'], { ...told, SLUICE_CONFIG: 'own.yaml' }, folder.path));
      expect(byVariable).toEqual({ code: 0, out: 'No responses.\n', errors: '' });
      expect(await said(responses(['list', '--config', 'own.yaml'], told, folder.path))).toEqual(byVariable);
      const asJson = await said(responses(['list', '--json', '--data-dir', 'kept-here'], told, folder.path));
      expect(asJson).toEqual({ code: 0, out: '', errors: '' });
    } finally {
      await api.stop();
    }
  });

  it('says where to go on when the service is gone in the middle of a stream', async () => {
    const api = await service.addApi();
    const { id, ended } = await streaming('[[sluice: tokens=1000 tokens_per_second=5]]');
    const process = responses(['tail', id, '--url', api.url]);
    await process.printed(/\w/);
    await api.kill();
    expect(await said(process)).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^sluice: The stream was cut before its end; go on with --after /),
    });
    await said(responses(['cancel', id]));
    await ended;
  });
});

describe('sluice keys', () => {
  const keys = (args: SluiceProcessOptions['args'] = []) => said(startProcess({ command: 'keys', args }));

  it('makes a key and its hash, another one each time', async () => {
    const [one, other] = [await keys(), await keys()];
    const [, key = ''] = /^ +(sk-sluice-\w+)$/m.exec(one.out) ?? [];
    const hash = createHash('sha256').update(key).digest('hex');
    expect(one.out).toContain(`hash: sha256:${hash}`);
    expect(other.out).not.toContain(key);
  });

  it('makes none when it is asked for help or told too much', async () => {
    expect(await keys(['--help'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Usage: sluice keys/),
    });
    expect(await keys(['for-team-a'])).toMatchObject({ code: 2, out: '' });
  });
});

describe('a command whose output is read in part', () => {
  it('ends without a complaint', async () => {
    const main = fileURLToPath(new URL('../../../apps/sluice/dist/main.js', import.meta.url));
    // Its second line comes when the reader has gone.
    const script = 'set -o pipefail; "$0" "$1" doctor --json | (read -r line; echo "$line")';
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      ['--norc', '-c', script, process.execPath, main],
      {
        env: { PATH: process.env['PATH'], REDIS_URL: service.redis.url, SLUICE_CONFIG: service.file },
      },
    );
    expect(JSON.parse(stdout)).toMatchObject({ subject: 'Node' });
    expect(stderr).toBe('');
  });
});
