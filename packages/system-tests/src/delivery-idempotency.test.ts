import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { within } from '@sluice/testing';
import { expect, it } from 'vitest';
import { deliverySite, siteKeys } from './delivery-site.ts';
import { type OpenAnswer, open, readFrames } from './wire.ts';

const site = deliverySite({ settings: { recovery: { retryGraceMs: 2_000 } } });

const upstreamCalls = () => site.upstream.fake.requests.length;

/** What a caller received in the end, in any mode. */
interface Told {
  id: string;
  object: string;
  status: string;
  output_text: string;
}

function post(at: number, idempotencyKey: string, body: object, mount: '/v1' | '/api/v1' = '/v1') {
  return open(site.api(at), {
    method: 'POST',
    path: `${mount}/responses`,
    key: siteKeys.tester,
    body,
    headers: { 'idempotency-key': idempotencyKey },
  });
}

async function told(answer: OpenAnswer): Promise<Told> {
  if (answer.headers['content-type']?.startsWith('text/event-stream') !== true) {
    return JSON.parse(await text(answer.incoming)) as Told;
  }
  const { frames, isWhole } = await readFrames(answer);
  if (!isWhole) throw new Error('the stream broke off');
  return (JSON.parse(frames.at(-1)?.data ?? '') as { response: Told }).response; // the last event carries the response
}

it('fifty duplicates at a time, whole and streamed, at both mounts of both apis, are one upstream call that answers each in its mode', async () => {
  const before = upstreamCalls();
  const call = site.upstream.expect('one word', ['and', 'more']);
  const idempotencyKey = randomUUID();
  const callers = Array.from({ length: 50 }, (_, at) => {
    const mount = at % 4 < 2 ? '/v1' : '/api/v1';
    const streams = at % 8 < 4;
    const body = { model: 'scripted', input: call.input, ...(streams && { stream: true }) };
    return { mount, streams, answer: post(at, idempotencyKey, body, mount) } as const;
  });
  // A stream gets its headers as soon as it is attached, so half of the callers follow the same response by then.
  await Promise.all(callers.filter(({ streams }) => streams).map(({ answer }) => answer));
  await call.arrived.wait();
  call.finish();
  const answers = await Promise.all(
    callers.map(async ({ mount, answer }) => ({
      mount,
      opened: await answer,
      said: await told(await answer),
    })),
  );
  const ids = new Set(answers.map(({ said }) => said.id));
  expect(ids.size).toBe(1);
  for (const { mount, opened, said } of answers) {
    expect(opened.status).toBe(200);
    expect(said).toMatchObject({
      object: mount === '/v1' ? 'response' : 'create_response',
      status: 'completed',
      output_text: 'Wellandmore.',
    });
  }
  expect(upstreamCalls() - before).toBe(1);
});

it('a finished answer is replayed in the mode that is asked for, and says so', async () => {
  const idempotencyKey = randomUUID();
  const body = { model: 'simulator', input: 'Only once.' };
  const first = await post(0, idempotencyKey, body);
  expect(first.headers['idempotent-replayed']).toBeUndefined();
  const original = await text(first.incoming);
  const again = await post(1, idempotencyKey, body);
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(await text(again.incoming)).toBe(original);
  const stream = await post(1, idempotencyKey, { ...body, stream: true, stream_options: {} });
  expect(stream.headers['idempotent-replayed']).toBe('true');
  const { frames } = await readFrames(stream);
  expect(frames[0]?.event).toBe('response.created');
  expect(frames.at(-1)?.data).toContain(original);
  // A body with the same members in another order is the same body.
  const reordered = await post(0, idempotencyKey, { input: 'Only once.', model: 'simulator' });
  expect(await text(reordered.incoming)).toBe(original);
});

it('an answer that was not stored is gone for its duplicates', async () => {
  const idempotencyKey = randomUUID();
  const body = { model: 'simulator', input: 'Leave no trace.', store: false };
  expect(await told(await post(0, idempotencyKey, body))).toMatchObject({
    status: 'completed',
    store: false,
  });
  for (const retry of [body, { ...body, stream: true }]) {
    const answer = await post(1, idempotencyKey, retry);
    expect(answer).toMatchObject({ status: 409, headers: { 'x-should-retry': 'false' } });
    expect(JSON.parse(await text(answer.incoming))).toMatchObject({
      error: { code: 'idempotency_result_gone', param: 'Idempotency-Key' },
    });
  }
});

it('an unstored answer goes to everybody who waits for it, and is kept for nobody else', async () => {
  const call = site.upstream.expect('one word');
  const idempotencyKey = randomUUID();
  const body = { model: 'scripted', input: call.input, store: false };
  const streams = await Promise.all(
    [0, 1, 2, 3].map((at) => post(at, idempotencyKey, { ...body, stream: true })),
  );
  await call.arrived.wait();
  call.finish();
  const answers = await Promise.all(streams.map(told));
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  for (const { status, output_text } of answers)
    expect({ status, output_text }).toEqual({ status: 'completed', output_text: 'Well.' });
  expect((await site.get(0, answers[0]?.id ?? '')).status).toBe(404);
});

it.each([false, true])(
  'a caller whose connection broke comes back to the same upstream call (stream: %s)',
  async (stream) => {
    const before = upstreamCalls();
    const call = site.upstream.expect('one word');
    const idempotencyKey = randomUUID();
    const body = { model: 'scripted', input: call.input, stream };
    const leaving = new AbortController();
    const lost = expect(
      fetch(`${site.api(0)}/v1/responses`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${siteKeys.tester}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify(body),
        signal: leaving.signal,
      }).then((answer) => answer.text()),
    ).rejects.toThrow();
    await call.arrived.wait();
    leaving.abort();
    await lost;
    const back = post(1, idempotencyKey, body);
    if (stream) await back;
    call.finish();
    expect(await told(await back)).toMatchObject({ status: 'completed', output_text: 'Well.' });
    expect(upstreamCalls() - before).toBe(1);
  },
);

it('a caller with a key who does not come back is given up later than one without who leaves behind it', async () => {
  const ended: string[] = [];
  const start = async (who: string, answering: (body: object) => Promise<OpenAnswer>) => {
    const call = site.upstream.expect('one word');
    const answer = await answering({ model: 'scripted', input: call.input, stream: true });
    const request = await call.arrived.wait();
    const ending = request.ended.then((how) => ended.push(`${who} ${how}`));
    return { answer, ending };
  };
  const kept = await start('with a key', (body) => post(0, randomUUID(), body));
  const other = await start('without', (body) => site.stream(0, body));
  kept.answer.cut();
  other.answer.cut();
  await within(Promise.all([kept.ending, other.ending]));
  expect(ended).toEqual(['without aborted', 'with a key aborted']);
});
