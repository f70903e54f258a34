import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serveOnFirstVisit } from './on-first-visit.ts';

let app: FastifyInstance;
let registered = 0;
let closed = 0;
let failure: Error | undefined;

beforeEach(() => {
  [registered, closed, failure] = [0, 0, undefined];
  app = fastify();
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.authorization === undefined) return void reply.code(401).send('who?');
    reply.headers({ 'x-of-all': 'all', 'cache-control': 'no-store' });
    done();
  });
  serveOnFirstVisit(app, '/part', async (part) => {
    registered += 1;
    if (failure) throw failure;
    part.get('/part', () => 'the part');
    part.get<{ Params: { name: string } }>('/part/:name', (request, reply) =>
      reply.header('cache-control', 'no-cache').send(request.params.name),
    );
    part.get('/part/broken', () => {
      throw new Error('a secret');
    });
    part.addHook('onClose', async () => {
      closed += 1;
    });
  });
});
afterEach(() => app.close());

const visit = (url: string, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  app.inject({ method, url, headers: { authorization: 'x' } });

describe('a part that is served on its first visit', () => {
  it('registers nothing before, once for all visits, and ends with its app', async () => {
    await app.ready();
    expect(registered).toBe(0);
    const answers = await Promise.all([visit('/part'), visit('/part'), visit('/part/a')]);
    expect(answers.map(({ body }) => body)).toEqual(['the part', 'the part', 'a']);
    expect(registered).toBe(1);
    await app.close();
    expect(closed).toBe(1);
  });

  it('lets nobody in whom its app does not let in', async () => {
    expect((await app.inject('/part')).statusCode).toBe(401);
    expect(registered).toBe(0);
  });

  it('answers with the headers of its app, unless it has its own', async () => {
    expect((await visit('/part')).headers).toMatchObject({ 'x-of-all': 'all', 'cache-control': 'no-store' });
    expect((await visit('/part/a')).headers).toMatchObject({
      'x-of-all': 'all',
      'cache-control': 'no-cache',
    });
  });

  it('has long names, answers HEAD, and says plainly what is not there and what fails', async () => {
    const name = 'n'.repeat(10_000);
    expect((await visit(`/part/${name}`)).body).toBe(name);
    expect(await visit('/part', 'HEAD')).toMatchObject({ statusCode: 200, body: '' });
    expect(await visit('/part', 'POST')).toMatchObject({ statusCode: 404 });
    expect(await visit('/part/a/b')).toMatchObject({
      statusCode: 404,
      body: expect.stringMatching(/^Not here/),
    });
    const broken = await visit('/part/broken');
    expect([broken.statusCode, broken.body]).toEqual([500, expect.not.stringContaining('secret')]);
  });

  it('is tried again by the next visit when it could not be registered', async () => {
    failure = new Error('a package is missing');
    expect((await visit('/part')).statusCode).toBe(500);
    failure = undefined;
    expect((await visit('/part')).body).toBe('the part');
    expect(registered).toBe(2);
  });
});
