import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { FailedLogins } from '@sluice/runtime';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registerAuthentication } from '../authentication.ts';
import { sendPlain } from '../plain-answers.ts';
import { registerConsole } from './console.ts';

const token = 'admin-token-of-the-test';
const navigation = { host: 'localhost', accept: 'text/html,*/*', 'sec-fetch-mode': 'navigate' };
const loading = { host: 'localhost', accept: '*/*', 'sec-fetch-mode': 'cors' };

let folder: string;
let app: FastifyInstance;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-console-'));
  app = await serve();
});

afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true, force: true });
});

async function serve(givenToken?: string): Promise<FastifyInstance> {
  const made = fastify();
  registerAuthentication(made, { token: givenToken, failedLogins: new FailedLogins() });
  made.setNotFoundHandler((_request, reply) => sendPlain(reply, 404));
  registerConsole(made, folder);
  return made;
}

/** Puts files where a build leaves them. */
async function built(): Promise<void> {
  await mkdir(join(folder, 'assets'));
  const files = {
    'index.html': '<!doctype html><title>Built</title>',
    'assets/index-abc.js': 'x'.repeat(500),
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), text);
    await writeFile(join(folder, `${name}.br`), brotliCompressSync(text));
    await writeFile(join(folder, `${name}.gz`), gzipSync(text));
  }
  await writeFile(join(folder, 'icon.svg'), '<svg/>');
  await writeFile(join(folder, 'color-scheme.js'), '//');
  await writeFile(join(folder, '.sources'), 'digest');
}

const asked = (url: string, headers: Record<string, string> = navigation) => app.inject({ url, headers });

describe('the console', () => {
  beforeEach(built);

  it.each(['/console', '/console/', '/console/responses', '/console/responses/resp_1.2', '/console/a/b?c=d'])(
    'is one document at %s, which is asked for each time',
    async (url) => {
      const { statusCode, body, headers } = await asked(url);
      expect([statusCode, body]).toEqual([200, '<!doctype html><title>Built</title>']);
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'content-type': expect.stringMatching(/html/),
      });
    },
  );

  it('is a document for who says that it wants one, without the headers of a browser', async () => {
    expect((await asked('/console/responses', { host: 'localhost', accept: 'text/html' })).statusCode).toBe(
      200,
    );
    expect((await asked('/console', { host: 'localhost' })).statusCode).toBe(200);
  });

  it('has no document for what a page loads', async () => {
    for (const url of ['/console/responses', '/console/sw.js', '/console/assets', '/console/assets/']) {
      expect((await asked(url, loading)).statusCode).toBe(404);
    }
  });

  it('keeps assets for ever, and asks for what has a fixed name', async () => {
    const { headers } = await asked('/console/assets/index-abc.js', loading);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': expect.stringMatching(/javascript/),
      vary: 'accept-encoding',
    });
    for (const name of ['icon.svg', 'color-scheme.js']) {
      expect((await asked(`/console/${name}`, loading)).headers['cache-control']).toBe('no-cache');
    }
  });

  it('has no asset that is not there, and nobody keeps that answer', async () => {
    for (const headers of [loading, navigation]) {
      const answer = await asked('/console/assets/index-old.js', headers);
      expect(answer.statusCode).toBe(404);
      expect(answer.headers['content-type']).toMatch(/text\/plain/);
      expect(answer.headers['cache-control']).toBeUndefined();
    }
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ])('sends what was compressed as %s to who takes it', async (encoding, decompress) => {
    for (const [url, expected] of [
      ['/console/assets/index-abc.js', 'x'.repeat(500)],
      ['/console', '<!doctype html><title>Built</title>'],
    ] as const) {
      const answer = await asked(url, { ...navigation, 'accept-encoding': encoding });
      expect(answer.headers['content-encoding']).toBe(encoding);
      expect(decompress(answer.rawPayload).toString()).toBe(expected);
    }
  });

  it('prefers brotli, and sends plain text to who takes neither', async () => {
    const both = await asked('/console', { ...navigation, 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(both.headers['content-encoding']).toBe('br');
    expect((await asked('/console')).headers['content-encoding']).toBeUndefined();
  });

  it('answers HEAD as GET, without a body', async () => {
    for (const url of ['/console', '/console/responses', '/console/assets/index-abc.js']) {
      const answer = await app.inject({ method: 'HEAD', url, headers: navigation });
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
      expect(Number(answer.headers['content-length'])).toBeGreaterThan(0);
    }
  });

  it.each([
    '/console/../package.json',
    '/console/assets/../.sources',
    '/console/assets/..%2f.sources',
    '/console/assets/%2e%2e/.sources',
    '/console/assets/..%5c.sources',
    '/console/assets/%2fetc/passwd',
    '/console/assets//etc/passwd',
    '/console/assets/index-abc.js%00.svg',
    '/console/assets/.hidden',
    '/console/.sources',
    '/console/.building',
    '/console/assets/%zz',
  ])('shows nothing else of the machine at %s', async (url) => {
    await writeFile(join(folder, 'assets/.hidden'), 'digest');
    for (const headers of [loading, navigation]) {
      const { statusCode, body } = await asked(url, headers);
      expect(body).not.toMatch(/digest|root:|"name"/);
      expect([200, 400, 404]).toContain(statusCode);
      if (statusCode === 200) expect(body).toBe('<!doctype html><title>Built</title>');
    }
  });

  it('allows a page nothing but what comes from here', async () => {
    for (const url of ['/console', '/console/assets/index-abc.js', '/console/assets/nope.js']) {
      const policy = String((await asked(url)).headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:|nonce/);
    }
  });
});

describe('the door of the console', () => {
  beforeEach(built);

  it('is closed to who names another host', async () => {
    for (const url of ['/console', '/console/assets/index-abc.js', '/console/icon.svg']) {
      expect((await asked(url, { ...navigation, host: 'evil.example' })).statusCode).toBe(403);
    }
  });

  it('opens for the admin token alone, under any name', async () => {
    await app.close();
    app = await serve(token);
    const named = { ...navigation, host: 'sluice.example' };
    for (const url of ['/console', '/console/assets/index-abc.js', '/console/icon.svg']) {
      const refused = await asked(url, named);
      expect(refused.statusCode).toBe(401);
      expect(refused.headers['www-authenticate']).toMatch(/^Basic /);
      const authorization = `Basic ${Buffer.from(`admin:${token}`).toString('base64')}`;
      expect((await asked(url, { ...named, authorization })).statusCode).toBe(200);
    }
  });
});

describe('a console that is not built', () => {
  const lock = () => join(folder, '.building');

  it('says how to build it, in a page without a script that comes back', async () => {
    const { statusCode, body, headers } = await asked('/console');
    expect([statusCode, headers['retry-after']]).toEqual([503, '2']);
    expect(body).toContain('npm run build --workspace apps/console');
    expect(body).toMatch(/<meta http-equiv="refresh" content="\d">/);
    expect(body).not.toContain('<script');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+';/);
  });

  it('says that it is being built while it is', async () => {
    await writeFile(lock(), '1');
    expect((await asked('/console/responses')).body).toContain('being built');
    await utimes(lock(), new Date(0), new Date(0));
    expect((await asked('/console')).body).toContain('not built');
  });

  it('has no assets, and serves as soon as it is built', async () => {
    expect((await asked('/console/assets/index-abc.js', loading)).statusCode).toBe(404);
    await built();
    expect((await asked('/console')).statusCode).toBe(200);
    expect((await asked('/console/assets/index-abc.js', loading)).statusCode).toBe(200);
  });
});
