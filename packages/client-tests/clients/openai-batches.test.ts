import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { forAllTests, eventually } from '@sluice/testing';
import OpenAI, { toFile } from 'openai';
import { beforeEach, describe, expect, it } from 'vitest';
import { clientSite, mounts, onlyPrompt } from '../src/client-site.ts';
import { hasPython, pythonSession } from './python-session.ts';

const hasPackage = hasPython('openai');

/** The deliveries of webhooks. */
const received: { body: string; headers: IncomingMessage['headers'] }[] = [];

const receiver = forAllTests(async () => {
  const server = createServer((request, reply) => {
    void text(request).then((body) => {
      received.push({ body, headers: request.headers });
      reply.writeHead(204).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
});
beforeEach(() => {
  received.length = 0;
});
// It ends before its receiver.
const site = clientSite();

/** The delivery for a response or a batch. */
const deliveryOf = (id: string) => eventually(() => received.find(({ body }) => body.includes(id)));
const urlOfReceiver = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`; // a port, not a pipe
const said = 'Bergen lies between seven mountains.';

/** Lines of a file, of which the second is answered by an error. */
const linesFor = (prompt: string) =>
  [
    { custom_id: 'one', body: { model: 'scripted', input: `Tell me of Bergen. ${prompt}` } },
    { custom_id: 'two', body: { model: 'simulator', input: `${prompt} [[sluice: fail=model_error]]` } },
  ]
    .map((line) => `${JSON.stringify({ ...line, method: 'POST', url: '/v1/responses' })}\n`)
    .join('');

describe.each(mounts)('openai with files, batches, usage and webhooks at $mount', ({ mount }) => {
  const client = () =>
    new OpenAI({
      baseURL: site.baseUrl(mount),
      apiKey: site.key,
      adminAPIKey: site.key,
      maxRetries: 0,
    });

  it('`batches`, `files`, and `admin.organization.usage` of them', async () => {
    const start_time = Math.floor(Date.now() / 1_000);
    const usedTokens = async () => {
      const usage = client().admin.organization.usage.completions({ start_time, group_by: ['batch'] });
      const results = (await usage).data.flatMap((bucket) => bucket.results) as {
        batch?: boolean;
        output_tokens?: number;
      }[];
      return results.reduce((sum, { batch, output_tokens: tokens = 0 }) => sum + (batch ? tokens : 0), 0);
    };
    const before = await usedTokens();
    const file = await toFile(Buffer.from(linesFor(onlyPrompt('Now'))), 'in.jsonl');
    const { id: input_file_id } = await client().files.create({ file, purpose: 'batch' });
    const asked = { input_file_id, endpoint: '/v1/responses', completion_window: '24h' } as const;
    const { id } = await client().batches.create(asked);
    const batch = await eventually(async () => {
      const read = await client().batches.retrieve(id);
      return read.status === 'completed' && read;
    });
    expect(batch.request_counts).toMatchObject({ total: 2, completed: 1, failed: 1 });
    const answer = await (await client().files.content(batch.output_file_id ?? '')).text();
    expect(JSON.parse(answer)).toMatchObject({ custom_id: 'one', response: { body: { output: [{}] } } });
    expect(answer).toContain(said);
    const listed = await Array.fromAsync(client().files.list({ purpose: 'batch_output' }));
    expect(listed.map((each) => each.id)).toContain(batch.output_file_id);
    await eventually(async () => (await usedTokens()) === before + (batch.usage?.output_tokens ?? 0));
    await expect(client().batches.create({ ...asked, input_file_id: 'file-none' })).rejects.toMatchObject({
      status: 400,
      param: 'input_file_id',
    });
  });

  it('`webhooks.unwrap`', async () => {
    const endpoint = await client().webhooks.create({
      name: 'node',
      url: urlOfReceiver(),
      event_types: ['response.completed'],
    });
    const { id } = await client().responses.create({
      model: 'scripted',
      input: 'Tell me of Bergen.',
      background: true,
    });
    const { body, headers } = await deliveryOf(id);
    const event = await client().webhooks.unwrap(body, headers, endpoint.signing_secret);
    expect(event).toMatchObject({ type: 'response.completed', data: { id } });
    await expect(client().webhooks.unwrap(`${body} `, headers, endpoint.signing_secret)).rejects.toThrow(
      'signature',
    );
    await client().webhooks.delete(endpoint.id);
  });
});

describe.skipIf(!hasPackage).each(mounts)(
  'openai for Python with files, batches, usage and webhooks at $mount',
  ({ mount }) => {
    const session = pythonSession('openai', () => site.baseUrl(mount));
    const python = (script: string) => session.run(script, site.key);

    it('`batches`, `files`, and `admin.organization.usage` of them', async () => {
      const script = `
lines = ${JSON.stringify(linesFor(onlyPrompt('Now')))}
admin = openai.OpenAI(max_retries=0, timeout=20, admin_api_key=client.api_key).admin
since = int(time.time())
def used():
  buckets = admin.organization.usage.completions(start_time=since, group_by=["batch"]).data
  return sum(result.output_tokens for bucket in buckets for result in bucket.results if result.batch)
before = used()
made = client.files.create(file=("in.jsonl", lines.encode()), purpose="batch")
batch = client.batches.create(input_file_id=made.id, endpoint="/v1/responses", completion_window="24h")
while batch.status != "completed":
  time.sleep(0.1)
  batch = client.batches.retrieve(batch.id)
answer = json.loads(client.files.content(batch.output_file_id).text)
while used() != before + batch.usage.output_tokens:
  time.sleep(0.1)
try:
  client.batches.create(input_file_id="file-none", endpoint="/v1/responses", completion_window="24h")
except openai.BadRequestError as error:
  param = error.param
show(counts=batch.request_counts.to_dict(), id=answer["custom_id"], text=answer["response"]["body"]["output"][0]["content"][0]["text"], param=param)
`;
      expect(await python(script)).toEqual({
        counts: { total: 2, completed: 1, failed: 1 },
        id: 'one',
        text: said,
        param: 'input_file_id',
      });
    });

    it('`webhooks.unwrap`', async () => {
      const made = await python(`
endpoint = client.webhooks.create(name="python", url=${JSON.stringify(urlOfReceiver())}, event_types=["response.completed"])
created = responses.create(model="scripted", input="Tell me of Bergen.", background=True)
show(endpoint=endpoint.id, secret=endpoint.signing_secret, id=created.id)
`);
      const { endpoint, secret, id } = made as Record<'endpoint' | 'secret' | 'id', string>; // as shown
      const { body, headers } = await deliveryOf(id);
      const given = [body, headers, secret].map((value) => JSON.stringify(value));
      const script = `
body, headers, secret = ${given.join(', ')}
event = client.webhooks.unwrap(body, headers, secret=secret)
try:
  client.webhooks.unwrap(body + " ", headers, secret=secret)
except openai.InvalidWebhookSignatureError as error:
  refused = True
client.webhooks.delete(${JSON.stringify(endpoint)})
show(type=event.type, id=event.data.id, refused=refused)
`;
      expect(await python(script)).toEqual({ type: 'response.completed', id, refused: true });
    });
  },
);
