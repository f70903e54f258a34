import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BucketClient } from '../src/bucket/bucket-client.ts';

let server: Server;
let folder: string;
let client: BucketClient;
/** What goes wrong when the client is opened, each once. */
let failures: Error[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-bucket-'));
  // It answers once it has the whole body, as a bucket does.
  server = createServer((request, reply) => void request.resume().on('end', () => reply.end()));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens to a port
  failures = [];
  const bucket = { name: 'b', accessKeyId: 'a', secretAccessKey: 'b', pathStyle: true };
  const logger = createLogger({ name: 'test', level: 'silent' });
  const options = {
    ...bucket,
    endpoint: `http://127.0.0.1:${port}`,
    get region(): string {
      const failure = failures.shift();
      if (failure) throw failure;
      return 'r';
    },
  };
  client = new BucketClient(options, logger);
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

describe('a write to a bucket', () => {
  it.each([
    ['that is gone', 'none', 'ENOENT'],
    ['that can be opened and not be read', '.', 'EISDIR'],
  ])('of a file %s is rejected, and ends no process', async (_what, name, code) => {
    const writing = client.put('key', join(folder, name), { from: 0, to: 100 });
    await expect(writing).rejects.toMatchObject({ code: 'files_unavailable', cause: { code } });
  });
});

describe('a client of a bucket', () => {
  it('that could not be opened is opened by the next call', async () => {
    failures.push(new Error('too many open files'));
    await expect(client.remove('key')).rejects.toMatchObject({ code: 'files_unavailable' });
    await client.remove('key');
  });
});
