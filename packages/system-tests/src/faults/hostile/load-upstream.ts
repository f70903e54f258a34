import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/** Longer requests are answered without a look at their prompt. */
const mostLookedAt = 100_000;
const pieceCharacters = 16_000;

/**
 * Starts a model server that does what a prompt says: `say N` answers with so many characters, `pieces N` and `events N` in
 * so many events with and without output, `wait N` after so many milliseconds, and `limited` with 429. The model `broken`
 * always fails. It keeps nothing of what it was sent. Returns its base URL.
 */
async function startLoadUpstream(): Promise<string> {
  const server = createServer((request, response) => {
    response.once('error', () => undefined);
    void textOf(request)
      .then((text) => answer(text, response))
      .catch(() => response.destroy()); // The caller left.
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`; // It listens on a port.
}

/** The beginning of a body, which is read to its end. */
async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) if (text.length < mostLookedAt) text += String(piece);
  return text;
}

async function answer(text: string, response: ServerResponse): Promise<void> {
  const [, word = '', number = '0'] = /"(say|pieces|events|wait|limited)(?: (\d+))?"/.exec(text) ?? [];
  if (text.includes('"model":"broken"')) return end(response, 500);
  if (word === 'limited') return end(response, 429, { 'retry-after': '30' });
  const count = Number(number);
  if (word === 'wait') await pause(count);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (word === 'say')
    await repeat(response, eventOf({ content: 'x'.repeat(pieceCharacters) }), count / pieceCharacters);
  if (word === 'pieces') await repeat(response, eventOf({ content: 'word' }), count);
  if (word === 'events') await repeat(response, eventOf({}), count);
  response.end(`${eventOf({ content: 'Well.' }, 'stop')}data: [DONE]\n\n`);
}

function end(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end('{"error":{"message":"no"}}');
}

function eventOf(delta: object, finish: 'stop' | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}

/** Writes an event so often, as fast as it is read. */
async function repeat(response: ServerResponse, event: string, count: number): Promise<void> {
  const atOnce = Math.ceil(64_000 / event.length);
  for (let left = Math.ceil(count); left > 0 && !response.destroyed; left -= atOnce) {
    if (response.write(event.repeat(Math.min(left, atOnce)))) continue;
    const over = new AbortController();
    const goOn = () => over.abort();
    response.once('drain', goOn).once('close', goOn);
    if (!response.destroyed) await pause(60_000, undefined, { signal: over.signal }).catch(() => undefined);
    response.off('drain', goOn).off('close', goOn);
  }
}

// A thread of its own. The requests of the quiet tenant come here, too, and whoever sends a load is busy with it.
parentPort?.postMessage(await startLoadUpstream());
