import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { FileBucketOptions } from '../src/index.ts';

/** The acts of a bucket at whose time a test looks, or whose answers it holds back. */
export interface BucketInMemory {
  settings: Omit<FileBucketOptions, 'drafts' | 'logger'>;
  objects: Map<string, { content: Buffer; changedAt: number }>;
  /** The clock of the bucket, in milliseconds since 1970. */
  clock: { now: number };
  /** Answers are given when it resolves. */
  mayAnswer: (method: string, key: string) => Promise<void>;
  stop: () => Promise<void>;
}

/** A server that speaks as much of S3 as files need, and checks no signature. */
export async function startBucketInMemory(): Promise<BucketInMemory> {
  const bucket = {
    objects: new Map<string, { content: Buffer; changedAt: number }>(),
    clock: { now: Date.now() },
    mayAnswer: (_method: string, _key: string) => Promise.resolve(),
  };
  const server = createServer((request, reply) => void answer(request, reply));
  const answer = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://bucket');
    const key = decodeURIComponent(pathname.slice('/bucket/'.length));
    const { method = '' } = request;
    const body = await buffer(request);
    await bucket.mayAnswer(method, key);
    reply.setHeader('date', new Date(bucket.clock.now).toUTCString());
    if (method === 'PUT') bucket.objects.set(key, { content: body, changedAt: bucket.clock.now });
    if (method === 'DELETE') bucket.objects.delete(key);
    if (method !== 'GET') return void reply.end();
    if (searchParams.has('list-type')) return void reply.end(listed(searchParams.get('prefix') ?? ''));
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
    reply.statusCode = 206;
    reply.end(bucket.objects.get(key)?.content.subarray(Number(from), Number(to) + 1));
  };
  const listed = (prefix: string): string => {
    const found = [...bucket.objects].filter(([key]) => key.startsWith(prefix)).toSorted(byKey);
    const entries = found.map(
      ([key, { content, changedAt }]) =>
        `<Contents><Key>${key}</Key><Size>${content.length}</Size><LastModified>${new Date(changedAt).toISOString()}</LastModified></Contents>`,
    );
    return `<ListBucketResult><IsTruncated>false</IsTruncated>${entries.join('')}</ListBucketResult>`;
  };
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens to a port
  return Object.assign(bucket, {
    settings: {
      name: 'bucket',
      region: 'r',
      prefix: 'test/',
      endpoint: `http://127.0.0.1:${port}`,
      accessKeyId: 'a',
      secretAccessKey: 'b',
      pathStyle: true,
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  });
}

const byKey = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]) =>
  one < other ? -1 : 1;
