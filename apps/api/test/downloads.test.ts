import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type FileStore, FileFolder, Files } from '@sluice/files';
import { createLogger } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BodyBudget } from '../src/bodies/body-budget.ts';
import { OpenRequests } from '../src/open-requests.ts';
import { registerErrorHandler } from '../src/plugins/error-handler.ts';
import type { DownloadReader } from '../src/plugins/downloads.ts';
import { registerUnreadAnswers } from '../src/plugins/unread-answers.ts';
import { registerRoute } from '../src/route.ts';
import { getFileContent } from '../src/routes/files.ts';
import { getMessageBatchResults, type MessageBatchesContext } from '../src/routes/message-batches.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
/** More than the buffers of both sockets take. */
const bytes = 10_000_000;

let folder: string;
let store: FileStore;
let app: FastifyInstance;
let open: OpenRequests;
let budget: BodyBudget;
let url: string;
let file: string;
let readers: Socket[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-downloads-'));
  store = new FileFolder(folder);
  const limits = { bytes: 2 * bytes, tenantBytes: 2 * bytes, tenantFiles: 2 };
  const files = new Files({ store, limits, logger, now: () => 1_700_000_000_000 });
  const draft = await files.receive('a', Readable.from([Buffer.alloc(bytes)]));
  file = (await files.keep('a', { name: 'a.txt', purpose: 'user_data' }, draft)).id;
  // A tenant has room for two readers.
  open = new OpenRequests(4);
  budget = new BodyBudget(() => 4 * store.readerBytes);
  readers = [];
  app = await serve(files);
});
afterEach(async () => {
  for (const reader of readers) reader.destroy();
  await app.close();
  await rm(folder, { recursive: true, force: true });
});

/** The results of a batch of messages, by its id. */
const results: Record<string, (reader: DownloadReader) => Promise<Readable>> = {
  async msg1({ keep }) {
    await keep(store.readerBytes);
    return Readable.from([Buffer.alloc(bytes)]);
  },
};

async function serve(files: Files): Promise<FastifyInstance> {
  const served = fastify();
  registerErrorHandler(served, logger);
  served.decorateRequest('underWay');
  served.decorateRequest('key');
  served.addHook('onRequest', (request, _reply, done) => {
    Object.assign(request, { key: { name: 'a' } });
    done();
  });
  registerUnreadAnswers(served, { bodyBudget: budget });
  registerRoute(served, getFileContent, { files, open, bodyBudget: budget });
  const messageBatches = {
    results: (_tenant: string, id: string, reader: DownloadReader) => results[id]?.(reader),
  } as unknown as MessageBatchesContext['messageBatches']; // nothing else of it is asked for
  registerRoute(served, getMessageBatchResults, {
    messageBatches,
    open,
    bodyBudget: budget,
  });
  url = await served.listen({ host: '127.0.0.1', port: 0 });
  return served;
}

/** Asks, and reads nothing. */
function ask(path: string): void {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' }).pause();
  socket.on('error', () => undefined); // It is cut.
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  readers.push(socket);
}

describe.each([
  ['a file', () => `/files/${file}/content`],
  ['the results of a batch', () => '/messages/batches/msg1/results'],
])('a download of %s', (_what, path) => {
  it('counts for its tenant, with the memory of its reader, until it is over', async () => {
    ask(path());
    ask(path());
    await eventually(() => budget.held === 2 * store.readerBytes);
    const refused = await app.inject(path());
    expect([refused.statusCode, refused.json()]).toMatchObject([
      429,
      { error: { message: expect.stringContaining('You have 2 requests open at once.') } },
    ]);
    for (const reader of readers) reader.destroy();
    await eventually(() => budget.held + open.size === 0);
    expect((await app.inject(path())).rawPayload).toHaveLength(bytes);
    await eventually(() => budget.held + open.size === 0);
  });

  it('begins when there is room for its reader', async () => {
    const other = budget.open('a');
    other.grow(2 * store.readerBytes);
    const asked = app.inject(path());
    await eventually(() => open.size === 1);
    expect(budget.held).toBe(2 * store.readerBytes);
    other.release();
    expect((await asked).statusCode).toBe(200);
  });

  it('holds up no stop for longer than that has time', async () => {
    ask(path());
    await eventually(() => budget.held > 0);
    await open.drain(0);
    expect(open.size).toBe(0);
  });
});
