import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { afterEach, expect, it } from 'vitest';
import type { Flow } from '../src/traffic/flow.ts';
import { runFlow } from '../src/traffic/run-flow.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Answer = (tag: string) => { status: number; parts: string[] } | 'none';

/** A server that answers as the test says, and the pool to reach it. */
async function api(answer: Answer): Promise<(origin: string) => Pool> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => {
      body += bytes.toString();
    });
    request.on('end', () => {
      const result = answer(/#([\w-]+)#/.exec(body)?.[1] ?? 'no tag');
      if (result === 'none') return;
      response.writeHead(result.status);
      for (const part of result.parts) response.write(part);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 8 });
  closers.push(async () => {
    await pool.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return () => pool;
}

function flow(others: Partial<Flow>): Flow {
  return {
    name: 'flow',
    origins: ['any'],
    key: 'key',
    request: { model: 'm' },
    input: 'Hello.',
    count: 3,
    everyMs: 0,
    lanes: 2,
    lastsMs: 10_000,
    ...others,
  };
}

it('sends each request once, with a tag of its own, and keeps the id of what was accepted', async () => {
  const seen: string[] = [];
  const pool = await api((tag) => {
    seen.push(tag);
    return tag === 'flow-1'
      ? { status: 429, parts: ['{}'] }
      : { status: 200, parts: ['{"id":"create-response_0abc"}'] };
  });
  const sent = await runFlow(pool, flow({}));
  expect(seen.toSorted()).toEqual(['flow-0', 'flow-1', 'flow-2']);
  expect(sent.map(({ tag, status, id }) => [tag, status, id])).toEqual([
    ['flow-0', 200, 'create-response_0abc'],
    ['flow-1', 429, undefined],
    ['flow-2', 200, 'create-response_0abc'],
  ]);
});

it('sends a request again that was answered with 503, and counts that', async () => {
  let calls = 0;
  const pool = await api(() => {
    calls += 1;
    return calls < 3 ? { status: 503, parts: [] } : { status: 200, parts: ['{"id":"create-response_0abc"}'] };
  });
  const [sent] = await runFlow(pool, flow({ count: 1 }));
  expect(sent).toMatchObject({ tag: 'flow-0', status: 200, refusals: 2 });
});

it('notes the first token of a stream', async () => {
  const pool = await api(() => ({
    status: 200,
    parts: ['event: response.created\n\n', 'event: response.output_text.delta\n\n'],
  }));
  const [sent] = await runFlow(pool, flow({ count: 1 }));
  expect(sent?.firstTokenAt).toBeGreaterThanOrEqual(sent?.at ?? Number.NaN);
  expect(sent?.firstTokenAt).toBeLessThanOrEqual(sent?.answeredAt ?? Number.NaN);
});

it('gives up what has no answer when the time of the flow is over', async () => {
  const pool = await api(() => 'none');
  const [sent] = await runFlow(pool, flow({ count: 1, lastsMs: 20 }));
  expect(sent).toMatchObject({ tag: 'flow-0', status: 0 });
});

it('keeps the pace while answers are late', async () => {
  let waiting = 0;
  const pool = await api(() => {
    waiting += 1;
    return 'none';
  });
  const sent = await runFlow(pool, flow({ count: 4, everyMs: 5, lastsMs: 300 }));
  expect(sent).toHaveLength(4);
  expect(waiting).toBe(4);
});
