import { beforeEach, describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi();

beforeEach(() => {
  api.worker.onRun((run) => {
    run.think('Let me ');
    run.think('think.');
    run.say('Hello');
    return run.complete();
  });
});

interface Item {
  type: string;
  id: string;
  summary: { type: 'summary_text'; text: string }[];
  encrypted_content?: string;
}

const include = ['reasoning.encrypted_content'];
const outputOf = (body: Record<string, unknown>) => body['output'] as Item[];

/** The reasoning of a response, as a client that keeps everything itself gets it. */
async function reasoningOf(
  body: object = {},
  key = apiKeys.first,
): Promise<Item & { encrypted_content: string }> {
  const answer = await api.create({ model, input: 'Hi', store: false, include, ...body }, { key });
  expect(answer.status).toBe(200);
  const [item] = outputOf(answer.json());
  if (item?.type !== 'reasoning' || item.encrypted_content === undefined) throw new Error(answer.text);
  return { ...item, encrypted_content: item.encrypted_content };
}

/** A turn that sends the reasoning of an earlier one back. */
function turnWith(item: object, { type = 'reasoning', ...body }: { type?: string; large?: boolean } = {}) {
  const filler = body.large === true ? 'x'.repeat(100_000) : 'Go on.';
  return {
    model,
    store: false,
    input: [
      { role: 'user', content: filler },
      { ...item, type },
    ],
  };
}

const restored = { content: [{ type: 'reasoning_text', text: 'Let me think.' }] };

describe('encrypted reasoning', () => {
  it('comes only to who includes it, and is never null', async () => {
    const answer = await api.create({ model, input: 'Hi' });
    expect(outputOf(answer.json())[0]).toMatchObject({ type: 'reasoning' });
    expect(answer.text).not.toContain('encrypted_content');
  });

  it('is in the event that ends its item, and in the object that ends the stream', async () => {
    const stream = await api.stream({ model, input: 'Hi', include });
    const events = (await stream.text())
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map(
        (line) => JSON.parse(line.slice('data: '.length)) as { type: string; item?: Item; response?: object },
      );
    const done = events.find(({ type }) => type === 'response.output_item.done')?.item;
    expect(done?.encrypted_content).toMatch(/^[\w-]{50,}$/);
    expect(events.at(-1)?.response).toMatchObject({ output: [done, { type: 'message' }] });
    const added = events.find(({ type }) => type === 'response.output_item.added');
    expect(added?.item).not.toHaveProperty('encrypted_content');
  });

  it('is in the derived events of a response that was not streamed', async () => {
    const answer = await api.create({ model, input: 'Hi', include });
    const [item] = outputOf(answer.json());
    const stream = await api.fetch(`/v1/responses/${String(answer.json()['id'])}?stream=true`);
    const data = (await stream.text()).split('\n').filter((line) => line.startsWith('data: {'));
    const done = data.find((line) => line.includes('response.output_item.done')) ?? '';
    expect(JSON.parse(done.slice('data: '.length))).toMatchObject({ item });
  });

  it('brings the model its reasoning back, though nothing is stored', async () => {
    const item = await reasoningOf();
    for (const large of [false, true]) {
      expect((await api.create(turnWith(item, { large }))).status).toBe(200);
      const { input } = api.worker.runs.at(-1)?.record.request ?? {};
      expect(input?.[1]).toMatchObject({ type: 'reasoning', id: item.id, ...restored });
      expect(JSON.stringify(input)).not.toContain(item.encrypted_content);
    }
  });

  it('brings it back through previous_response_id, and through a reference', async () => {
    const first = (await api.create({ model, input: 'Hi', include })).json();
    const [item] = outputOf(first);
    await api.create({ model, input: 'Go on.', previous_response_id: first['id'] });
    expect(api.worker.runs.at(-1)?.record.request.input[1]).toMatchObject({ type: 'reasoning', ...restored });
    await api.create({ model, input: [{ type: 'item_reference', id: item?.id }] });
    expect(api.worker.runs.at(-1)?.record.request.input[0]).toMatchObject({ type: 'reasoning', ...restored });
  });

  it('is listed as it was sent', async () => {
    const item = await reasoningOf();
    const created = await api.create({ ...turnWith(item), store: true });
    const listed = await api.get(`/v1/responses/${String(created.json()['id'])}/input_items`);
    expect(listed.json()).toMatchObject({
      data: [{ type: 'reasoning', encrypted_content: item.encrypted_content }, { type: 'message' }],
    });
  });

  it('is refused when it was changed, is foreign, is of another kind, or is not ours', async () => {
    const item = await reasoningOf();
    const { encrypted_content: sealed } = item;
    const middle = Math.floor(sealed.length / 2);
    const flipped = `${sealed.slice(0, middle)}${sealed[middle] === 'A' ? 'B' : 'A'}${sealed.slice(middle + 1)}`;
    const foreign = await reasoningOf({}, apiKeys.second);
    const refused = [
      turnWith({ ...item, encrypted_content: flipped }),
      turnWith({ ...item, encrypted_content: sealed.slice(0, -4) }),
      turnWith({ ...item, encrypted_content: '' }),
      turnWith({ ...item, encrypted_content: 'gAAAAABotheirs' }),
      turnWith({ ...item, encrypted_content: flipped }, { large: true }),
      turnWith(foreign),
      turnWith(item, { type: 'compaction' }),
    ];
    const runs = api.worker.runs.length;
    for (const body of refused) {
      const answer = await api.create(body);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({
        error: { code: 'invalid_encrypted_content', param: 'input[1].encrypted_content' },
      });
    }
    expect(api.worker.runs).toHaveLength(runs);
  });
});
