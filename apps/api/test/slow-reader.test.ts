import { connect, type Socket } from 'node:net';
import { checkEventGrammar, eventually, latch, readSse, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi({ isKept: false });

/** A stream over a socket that reads only when the test says so. */
async function openStream() {
  const socket = connect({ port: Number(new URL(await api.listen()).port), host: '127.0.0.1' });
  const body = JSON.stringify({ model, input: 'Hi', stream: true });
  socket.pause();
  socket.setEncoding('utf8');
  socket.write(
    [
      'POST /v1/responses HTTP/1.0',
      'Host: localhost',
      `Authorization: Bearer ${apiKeys.first}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  );
  return socket;
}

describe('a reader that falls behind', () => {
  it('holds up neither the worker nor others, costs little, and gets everything in order', async () => {
    const words = 4_000;
    const text = 'x'.repeat(2_000);
    const said = latch();
    api.worker.onRun(async (run) => {
      if (run.record.request.metadata?.['who'] === 'other') return run.complete();
      for (let word = 0; word < words; word += 1) {
        run.say(text);
        // As a model does: not all of it in one turn.
        if (word % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await run.complete();
      said.open();
    });
    const serving = latch<Socket>();
    api.app.server.once('connection', (accepted) => serving.open(accepted));
    const socket = await openStream();
    const served = await serving.wait();
    await said.wait();
    const other = await api.create({ model, input: 'Hi', metadata: { who: 'other' } });
    expect(other.status).toBe(200);
    const id = api.worker.runs[0]?.record.id;
    await eventually(async () => (await api.get(`/v1/responses/${id}`)).json()['status'] === 'completed');
    expect(served.writableNeedDrain).toBe(true);
    expect(served.writableLength).toBeLessThan(256 * 1024);

    let received = '';
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    socket.resume();
    await within(closed);
    const { events, done, problems } = await readSse(received.slice(received.indexOf('\r\n\r\n') + 4));
    expect(problems).toEqual([]);
    expect(done).toBe(true);
    expect(checkEventGrammar(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ response: { output_text: text.repeat(words) } });
  });

  it('does not keep a process from stopping', async () => {
    api.worker.onRun(async (run) => {
      for (let word = 0; word < 1_000; word += 1) run.say('x'.repeat(10_000));
      await run.complete();
    });
    const serving = latch<Socket>();
    api.app.server.once('connection', (accepted) => serving.open(accepted));
    const socket = await openStream();
    const served = await serving.wait();
    await eventually(() => served.writableNeedDrain);
    await within(api.open.drain(0));
    expect(served.destroyed).toBe(true);
    socket.destroy();
  });
});
