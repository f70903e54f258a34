import { once } from 'node:events';
import { startThread } from '@sluice/runtime';
import { type PickedItem, pickItems, pickPage } from '@sluice/response-store';
import { sealingKeyOf } from '@sluice/response-store/sealed-content';
import { eventually } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { JsonThreads, type JsonThreadsOptions } from '../src/bodies/json-threads.ts';
import { prepareBody } from '../src/bodies/prepare-body.ts';

let threads: JsonThreads;
let errors: unknown[];

afterEach(() => threads.stop());

function start(options: Partial<JsonThreadsOptions> = {}): void {
  errors = [];
  threads = new JsonThreads({
    bodyBytes: () => 1_000_000,
    onError: (error) => errors.push(error),
    ...options,
  });
}

const keys = [sealingKeyOf('a secret')];
const odd = new URL('./threads/odd-json.ts', import.meta.url);

/** A buffer of its own, as a body is received into one. */
function bytesOf(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

const prepare = (text: string, tenant = 'a') =>
  threads.prepare(tenant, { body: bytesOf(text), withDigest: true, form: 'create', keys });

describe('a thread that prepares bodies', () => {
  it('makes of a body what the event loop makes of it, and takes its bytes', async () => {
    start();
    const items = Array.from({ length: 50 }, (_, at) => ({
      role: 'user',
      content: `\u20ac${'x'.repeat(at)}`,
    }));
    const text = JSON.stringify({
      model: 'm',
      input: [{ type: 'item_reference', id: 'msg_1' }, ...items],
      stream: true,
    });
    const body = bytesOf(text);
    const prepared = await threads.prepare('a', { body, withDigest: true, form: 'create', keys });
    const expected = prepareBody(bytesOf(text), { withDigest: true, sealing: { tenant: 'a', keys } });
    expect(Buffer.from(prepared.input).toString()).toBe(expected.input);
    expect(prepared).toEqual({ ...expected, input: prepared.input });
    expect(body.byteLength).toBe(0);
  });

  it('refuses a body with the error that the event loop would give', async () => {
    start();
    await expect(prepare('{"model":"m","input":[0]}')).rejects.toMatchObject({
      code: 'invalid_type',
      param: 'input[0]',
      status: 400,
    });
    await expect(prepare('{"model":"m"')).rejects.toMatchObject({ code: 'invalid_json', status: 400 });
  });

  it('is replaced when it takes too long, crashes or ends', async () => {
    start({ module: odd, withinMs: 1_000 });
    for (const body of ['hang', 'crash', 'exit']) {
      await expect(prepare(body)).rejects.toMatchObject({ code: 'server_is_overloaded', status: 503 });
      await expect(prepare('well')).resolves.toBe('well');
    }
    expect(errors).toHaveLength(2);
  });

  it('that runs out of memory costs nobody but its caller anything', async () => {
    start({ module: odd });
    await expect(prepare('fill the heap')).rejects.toMatchObject({ code: 'request_too_large', status: 413 });
    await expect(prepare('well')).resolves.toBe('well');
  });

  it('tells a defect of ours apart from a bad body', async () => {
    start({ module: odd });
    await expect(prepare('fail')).rejects.toThrow('a defect');
  });

  it('takes stored items apart as the event loop does', async () => {
    start();
    const items = [
      { type: 'message', role: 'user', content: '\u20ac'.repeat(70_000) },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    ];
    const responseId = `create-response_${'0'.repeat(32)}`;
    const part = () => ({ responseId, isInput: true, json: bytesOf(JSON.stringify(items)) });
    const texts = (picked: readonly PickedItem[] = []) =>
      picked.map(({ json, ...rest }) => ({ ...rest, json: Buffer.from(json).toString() }));
    const page = { order: 'desc', limit: 2 } as const;
    const picked = await threads.pickPage('a', part(), page);
    expect(texts(picked?.items)).toEqual(texts(pickPage(part(), page)?.items));
    const ids = picked?.items.map(({ id }) => id) ?? [];
    const found = await threads.pickItems('a', part(), ids);
    expect(texts(found)).toEqual(texts(pickItems(part(), ids)));
    expect(found.map(({ link }) => link?.type)).toEqual([undefined, 'function_call']);
  });

  it('keeps nothing of a long body while it waits for the next one', async () => {
    const text = JSON.stringify({ model: 'm', input: [{ role: 'user', content: 'x'.repeat(9_000_000) }] });
    const thread = startThread(new URL('../src/bodies/json-thread.ts', import.meta.url), { name: 'json' });
    const heapBytes = async () => (await thread.getHeapStatistics()).used_heap_size;
    const read = async (json: string) => {
      const body = bytesOf(json);
      const task = {
        kind: 'prepare',
        body,
        withDigest: false,
        form: 'create',
        sealing: { tenant: 'a', keys },
      };
      thread.postMessage(task, [body.buffer]);
      await once(thread, 'message');
    };
    try {
      await read('{"model":"m","input":"Hello"}');
      const before = await heapBytes();
      await read(text);
      // It is collected behind the answer.
      await eventually(async () => expect((await heapBytes()) - before).toBeLessThan(text.length / 2));
    } finally {
      await thread.terminate();
    }
  });

  it('has a heap by the size of bodies at that moment', async () => {
    let bodyBytes = 1_000_000;
    start({ module: odd, bodyBytes: () => bodyBytes });
    const heapMib = async () => Number(await prepare('heap'));
    const before = await heapMib();
    expect(await heapMib()).toBe(before);
    bodyBytes = 64 * 1024 * 1024;
    expect((await heapMib()) - before).toBeGreaterThan(3 * 60);
  });

  it('ends when it has had nothing to do for long, and another one starts when there is', async () => {
    start({ module: odd, idleMs: 1 });
    await expect(prepare('one')).resolves.toBe('one');
    await expect(prepare('two')).resolves.toBe('two');
  });
});

describe('bodies of several tenants', () => {
  it('take turns, and none of them has every thread', async () => {
    start({ module: odd, withinMs: 2_000 });
    const settled: string[] = [];
    const stuck = ['hang', 'hang', 'later'].map((body) =>
      prepare(body, 'greedy').then(
        () => settled.push(body),
        () => settled.push('refused'),
      ),
    );
    // Both threads would be held up if one tenant could have them.
    await expect(prepare('well', 'modest')).resolves.toBe('well');
    expect(settled).toEqual([]);
    await Promise.all(stuck);
    expect(settled).toEqual(['refused', 'refused', 'later']);
  });

  it('are refused when the process stops', async () => {
    start({ module: odd });
    const held = [prepare('hang'), prepare('waits')].map((body) =>
      body.catch((error: unknown) => (error as { code?: string }).code),
    );
    await threads.stop();
    await expect(Promise.all(held)).resolves.toEqual(['server_is_overloaded', 'server_is_overloaded']);
    await expect(prepare('too late')).rejects.toMatchObject({ code: 'server_is_overloaded' });
    await eventually(() => errors.length === 0);
  });
});
