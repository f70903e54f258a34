import { connect } from 'node:net';
import { latch, within } from '@sluice/testing';
import fastify from 'fastify';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { answerLive, type LiveAnswer } from '../src/admin/api/live-answer.ts';

const app = fastify({ forceCloseConnections: true });
let answered = latch<LiveAnswer>();
app.get('/', (_request, reply) => answered.open(answerLive(reply, { stalledMs: 100 })));

afterEach(() => {
  answered = latch();
});
afterAll(() => app.close());

/** A client that asks and reads nothing. */
async function silentClient() {
  const url = new URL(app.server.listening ? addressOf() : await app.listen({ host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(url.port), url.hostname);
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(`GET / HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`);
  return { socket, answer: await answered.wait() };
}

function addressOf(): string {
  const address = app.server.address();
  return typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : '';
}

describe('a live answer', () => {
  it('is cut off when its client takes nothing of what it is sent in turn', async () => {
    const { socket, answer } = await silentClient();
    const sending = (async () => {
      for (;;) await answer.sendInTurn('event', JSON.stringify('x'.repeat(1024 * 1024)));
    })();
    await expect(within(sending)).rejects.toThrow();
    expect(answer.signal.aborted).toBe(true);
    socket.destroy();
  });

  it('is cut off when its client is too far behind', async () => {
    const { socket, answer } = await silentClient();
    for (let at = 0; at < 100 && !answer.signal.aborted; at += 1) {
      answer.send('event', 'x'.repeat(1024 * 1024));
    }
    expect(answer.signal.aborted).toBe(true);
    // Nothing happens any more.
    answer.send('event', 'late');
    await expect(answer.sendInTurn('event', '"late"')).rejects.toThrow();
    socket.destroy();
  });

  it('notices when its client leaves', async () => {
    const { socket, answer } = await silentClient();
    socket.destroy();
    await within(new Promise((resolve) => answer.signal.addEventListener('abort', resolve)));
  });
});
