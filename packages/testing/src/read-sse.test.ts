import { describe, expect, it } from 'vitest';
import { readSse, sseFrames } from './read-sse.ts';

const created = '{"type":"response.created","sequence_number":0}';
const delta = '{"type":"response.output_text.delta","delta":"a: b\\n\\nü\u2028"}';
const body = `event: response.created\ndata: ${created}\n\n: ping\n\nevent: response.output_text.delta\ndata: ${delta}\n\ndata: [DONE]\n\n`;

describe('reading an event stream', () => {
  it('gives parsed events, their bytes, and whether the stream was ended', async () => {
    const read = await readSse(body);
    expect(read).toEqual({
      events: [JSON.parse(created), JSON.parse(delta)],
      data: [created, delta],
      done: true,
      problems: [],
    });
  });

  it('reads the same whatever the chunks, even within a character', async () => {
    const bytes = new TextEncoder().encode(body);
    const whole = await readSse(body);
    for (let size = 1; size < 7; size += 1) expect(await readSse(chunks(bytes, size))).toEqual(whole);
  });

  it('yields a frame as soon as its blank line is there', async () => {
    const frames = sseFrames(unfinished());
    expect(await frames.next()).toEqual({ done: false, value: { event: 'response.created', data: created } });
    await frames.return(undefined);
  });

  it('keeps what came before the stream broke', async () => {
    const read = await readSse(breaking());
    expect(read).toMatchObject({
      data: [created],
      done: false,
      problems: ['the stream broke: socket closed'],
    });
  });

  it.each([
    [
      'an event line that is not the type',
      `event: other\ndata: ${created}\n\n`,
      "the event line says 'other'",
    ],
    ['an id', `id: 1\nevent: response.created\ndata: ${created}\n\n`, "unexpected line 'id: 1'"],
    ['data on two lines', `event: x\ndata: {}\ndata: {}\n\n`, 'two data lines'],
    ['a frame without data', 'event: x\n\n', 'a frame without data'],
    ['a frame that was cut', `event: response.created\ndata: ${created}`, 'the stream ends inside a frame'],
    [
      'an event behind the last frame',
      `data: [DONE]\n\nevent: response.created\ndata: ${created}\n\n`,
      'nothing follows [DONE]',
    ],
    ['data that is no JSON', 'event: x\ndata: {\n\n', 'the stream broke'],
  ])('reports %s', async (_what, text, problem) => {
    expect((await readSse(text)).problems.join('\n')).toContain(problem);
  });
});

async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function* unfinished(): AsyncGenerator<string> {
  yield `event: response.created\ndata: ${created}\n`;
  yield '\n';
  throw new Error('read too far');
}

async function* breaking(): AsyncGenerator<string> {
  yield `event: response.created\ndata: ${created}\n\n`;
  throw new Error('socket closed');
}
