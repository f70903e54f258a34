import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Validator } from '@seriousme/openapi-schema-validator';
import { eventually } from '@sluice/testing';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { adminMount } from '../src/admin/api/admin-mount.ts';
import { adminRoutes } from '../src/admin/api/admin-routes.ts';
import { openApiDocument } from '../src/openapi/openapi-document.ts';
import { pathOf } from '../src/openapi/operations.ts';
import { BodyBudget } from '../src/bodies/body-budget.ts';
import { registerApiReference } from '../src/plugins/api-reference.ts';
import { registerUnreadAnswers } from '../src/plugins/unread-answers.ts';
import { dialects } from '../src/responses/dialect.ts';
import { healthRoutes, routes } from '../src/routes.ts';
import { oneTestApi } from './kept-api.ts';

const api = oneTestApi({ withoutWorker: true });

const document = openApiDocument();
const written = new URL('../../../docs/openapi.json', import.meta.url);

describe('the OpenAPI document', () => {
  it('is a valid one', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it('is the one in docs, which says how to write it anew', () => {
    const command =
      'npx node --conditions=sluice-source apps/api/src/openapi/openapi-document.ts > docs/openapi.json';
    expect(JSON.parse(readFileSync(written, 'utf8')), command).toEqual(document);
  });

  it('has every route of the server, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served = [
      ...[...routes, ...healthRoutes].map(({ method, path }) => `${method} ${pathOf(path)}`),
      ...adminRoutes.map(({ method, path }) => `${method} ${adminMount}${pathOf(path)}`),
    ];
    expect(described.toSorted()).toEqual(served.toSorted());
    for (const { method, path } of routes) {
      for (const { mount } of dialects) expect(api.app.hasRoute({ method, url: mount + path })).toBe(true);
    }
  });

  it('names each operation once', () => {
    const names = [...routes, ...healthRoutes, ...adminRoutes].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('says which operations need the action token', () => {
    for (const { method, path, acts } of adminRoutes) {
      const operation = document.paths[adminMount + pathOf(path)]?.[method.toLowerCase()];
      const needed = operation?.['security'] as object[];
      expect(needed.map((each) => 'actionToken' in each)).toEqual([acts, acts, acts]);
      expect(operation?.['tags']).toEqual(['admin']);
    }
  });

  it('describes the API alone where the API serves it', () => {
    const text = JSON.stringify(openApiDocument({ withAdmin: false }));
    expect(text).not.toContain(adminMount);
    expect(text).not.toContain('"Admin');
  });

  it('refers to nothing that is not in it', () => {
    const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)[^"]*"/g);
    for (const [, name = ''] of references) expect(Object.keys(document.components.schemas)).toContain(name);
  });
});

describe('the reference', () => {
  it('is served without a key', async () => {
    const answer = await api.app.inject({ url: '/openapi.json' });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument({ withAdmin: false }))));
  });

  it('has a page that loads everything from this host', async () => {
    const page = await api.app.inject({ url: '/docs' });
    expect(page.statusCode).toBe(200);
    const addresses = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(addresses.length).toBeGreaterThan(0);
    for (const address of addresses) {
      expect(new URL(address, 'http://here.test/docs').host).toBe('here.test');
      const part = await api.app.inject({ url: new URL(address, 'http://here.test/docs').pathname });
      expect(part.statusCode, address).toBe(200);
    }
    expect(page.headers['content-security-policy']).toContain("default-src 'self'");
  });

  it('answers for a part that is not there, and for the headers alone, as for any path', async () => {
    const missing = await api.app.inject({ url: '/docs/static/nothing.js' });
    expect(missing.statusCode).toBe(404);
    expect(missing.json()).toMatchObject({ error: { type: 'not_found' } });
    const page = await api.app.inject({ url: '/docs' });
    const headers = await api.app.inject({ method: 'HEAD', url: '/docs' });
    expect([headers.statusCode, headers.body]).toEqual([200, '']);
    expect(headers.headers['content-length']).toBe(page.headers['content-length']);
  });

  it('is kept once for all who read it, and counts for no tenant', async () => {
    const app = fastify();
    const budget = new BodyBudget(() => 0); // one that refuses everything
    registerUnreadAnswers(app, { bodyBudget: budget });
    // More than the buffers of both sockets take.
    const file = Buffer.alloc(10_000_000);
    registerApiReference(app, async () => fastify().get('/docs/large.js', () => Buffer.from(file)));
    expect((await app.inject('/openapi.json')).statusCode).toBe(200);
    const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
    const served: Socket[] = [];
    app.server.on('connection', (accepted) => served.push(accepted));
    const before = bytesOfBuffers();
    const readers = Array.from({ length: 20 }, () => {
      const socket = connect({ port, host: '127.0.0.1' }).pause();
      socket.on('error', () => undefined); // It is cut.
      socket.write('GET /docs/large.js HTTP/1.1\r\nHost: localhost\r\n\r\n');
      return socket;
    });
    await eventually(() => served.filter(({ writableLength }) => writableLength > 0).length === 20);
    expect(bytesOfBuffers() - before).toBeLessThan(5 * file.length);
    for (const reader of readers) reader.destroy();
    await app.close();
  });

  it('has one address for each file, and sends none that its reader has', async () => {
    const path = '/docs/static/swagger-ui.css';
    const { headers } = await api.app.inject({ url: `${path}?v=1` });
    const again = await api.app.inject({ url: path, headers: { 'if-none-match': headers['etag'] } });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect((await api.app.inject({ url: '/docs/static/swagger%2Dui.css' })).statusCode).toBe(404);
  });

  it('is tried again by the next visit when its page could not be made, and made once for all visits', async () => {
    const app = fastify();
    let made = 0;
    let asked = 0;
    registerApiReference(app, async () => {
      made += 1;
      if (made === 1) throw new Error('a package is missing');
      const page = fastify();
      page.get('/docs', () => `the page, ${(asked += 1)}`);
      return page;
    });
    expect((await app.inject('/docs')).statusCode).toBe(500);
    const answers = await Promise.all([app.inject('/docs'), app.inject('/docs'), app.inject('/docs')]);
    expect(answers.map(({ body }) => body)).toEqual(Array.from({ length: 3 }, () => 'the page, 1'));
    expect(made).toBe(2);
    await app.close();
  });

  it.each(['lib/util/format-param-url.js', 'lib/mode/static.js', 'static/csp.json'])(
    'is made again when %s of a package could not be read, which ends no process',
    async (file) => {
      // In a process of its own: files of tests share theirs, and with it what one of them has loaded.
      const options = ['--conditions=sluice-source', '--input-type=module', '--eval', madeTwice, file];
      const { stdout } = await promisify(execFile)(process.execPath, options);
      expect(stdout).toBe('EMFILE\n200\n');
    },
  );
});

/** Makes the page of the reference twice. A file cannot be read at first, as where a process has no descriptor left. */
const madeTwice = `
  import fs from 'node:fs';
  const read = fs.readFileSync;
  fs.readFileSync = (path, ...options) => {
    if (!String(path).replaceAll('\\\\', '/').endsWith('/' + process.argv[1])) return read(path, ...options);
    fs.readFileSync = read;
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };
  const document = { openapi: '3.1.0', info: { title: 'a', version: '1' }, paths: {} };
  const make = async () => {
    const { referencePage } = await import(${JSON.stringify(new URL('../src/plugins/reference-page.ts', import.meta.url).href)});
    const page = await referencePage({ document, documentPath: '/openapi.json', pagePath: '/docs' });
    return (await page.inject('/docs')).statusCode;
  };
  for (const _ of [1, 2]) console.log(await make().catch(({ code }) => code));
`;

/** The memory that buffers take once nobody holds them any more. */
function bytesOfBuffers(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  return process.memoryUsage().external;
}
