import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { eventually } from '@sluice/testing';
import OpenAI, { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';

const keys = { 'team-a': `sk-test-${'a'.repeat(32)}`, 'team-b': `sk-test-${'b'.repeat(32)}` } as const;
const tenantBytes = 12_000_000;

const service = testService(() => ({
  apis: 2,
  workers: 0,
  settings: {
    files: { enabled: true, bytes: 10_000_000, tenantBytes, tenantFiles: 6 },
    keys: Object.entries(keys).map(([name, key]) => ({ name, key })),
    providers: [{ id: 'simulator', type: 'simulator' }],
    models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
  },
}));

function clientOf(team: keyof typeof keys, api = 0): OpenAI {
  return new OpenAI({ apiKey: keys[team], baseURL: `${service.apiUrls[api]}/v1`, maxRetries: 0 });
}

const lines = (count: number) =>
  Buffer.from(Array.from({ length: count }, (_, at) => `{"custom_id":"${at}"}\n`).join(''));

type Part = [name: string, value: string | File];
const filePart = (name: string, content = '{}'): Part => ['file', new File([content], name)];

/** Sends a form as somebody writes it by hand. */
async function send(parts: readonly Part[]) {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  const answer = await fetch(`${service.apiUrls[0]}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys['team-b']}` },
    body: form,
  });
  return { status: answer.status, body: await answer.json() };
}

describe('files, by the official client', () => {
  it('stand for their content in an input', async () => {
    const client = clientOf('team-b');
    const upload = async (name: string, content: Buffer, purpose: OpenAI.FilePurpose = 'user_data') =>
      (await client.files.create({ file: await toFile(content, name), purpose })).id;
    const text = randomBytes(100_001);
    const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(1_000)]);
    const [file_id, image] = [await upload('notes.csv', text), await upload('x.bin', png)];
    const ask = (content: OpenAI.Responses.ResponseInputContent[]) =>
      client.responses.create({
        model: 'simulator',
        background: true,
        input: [{ role: 'user', content: [{ type: 'input_text', text: '\u20ac' }, ...content] }],
      });
    const { id } = await ask([
      { type: 'input_file', file_id },
      { type: 'input_image', file_id: image, detail: 'low' },
      { type: 'input_file', file_id, filename: 'other.txt' },
    ]);
    const { data } = await client.responses.inputItems.list(id);
    expect(data).toMatchObject([
      {
        content: [
          { type: 'input_text' },
          { filename: 'notes.csv', file_data: `data:text/csv;base64,${text.toString('base64')}` },
          { detail: 'low', image_url: `data:image/png;base64,${png.toString('base64')}` },
          { filename: 'other.txt', file_data: `data:text/plain;base64,${text.toString('base64')}` },
        ],
      },
    ]);
    const batch = await upload('b.jsonl', lines(1), 'batch');
    const param = 'input[0].content[1].file_id';
    const absent = 'file-0123456789abcdef0123456789abcdef';
    for (const wrong of [absent, batch, '../../etc/passwd'])
      await expect(ask([{ type: 'input_file', file_id: wrong }])).rejects.toMatchObject({
        status: 400,
        param,
      });
    await expect(ask([{ type: 'input_image', file_id, detail: 'auto' }])).rejects.toMatchObject({
      status: 400,
      code: 'invalid_image_format',
      param,
    });
    const theirs = clientOf('team-a').responses.create({
      model: 'simulator',
      background: true,
      input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }],
    });
    await expect(theirs).rejects.toMatchObject({ status: 400, code: 'invalid_value' });
    for (const each of [file_id, image, batch]) await client.files.delete(each);
  });

  it('are uploaded, listed, read and deleted, at any api, by their tenant alone', async () => {
    const client = clientOf('team-a');
    const other = clientOf('team-a', 1);
    const content = lines(1_000);
    const file = await client.files.create({
      file: await toFile(content, '../../in.jsonl'),
      purpose: 'batch',
    });
    expect(file).toMatchObject({
      object: 'file',
      bytes: content.length,
      filename: 'in.jsonl',
      purpose: 'batch',
    });
    expect(file.expires_at).toBe(file.created_at + 30 * 86_400);
    expect(await other.files.retrieve(file.id)).toEqual(file);
    const read = await other.files.content(file.id);
    expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
    const data = await client.files.create({
      file: await toFile(randomBytes(3_000_000), 'b"ild\r\n.png'),
      purpose: 'user_data',
      expires_after: { anchor: 'created_at', seconds: 3_600 },
    });
    expect(data.expires_at).toBe(data.created_at + 3_600);
    const listed = [];
    for await (const each of client.files.list({ limit: 1 })) listed.push(each.id);
    expect(listed).toEqual([data.id, file.id]);
    expect((await client.files.list({ purpose: 'batch' })).data).toEqual([file]);
    const stranger = clientOf('team-b');
    expect((await stranger.files.list()).data).toEqual([]);
    await expect(stranger.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
    await expect(stranger.files.content(file.id)).rejects.toMatchObject({ status: 404 });
    await expect(stranger.files.delete(file.id)).rejects.toMatchObject({ status: 404 });
    expect(await other.files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
    await expect(client.files.content(file.id)).rejects.toMatchObject({ status: 404 });
    await client.files.delete(data.id);
  });

  it('are refused beyond what a tenant may have, and leave nothing', async () => {
    const client = clientOf('team-a');
    const upload = async (bytes: number) =>
      client.files.create({ file: await toFile(Buffer.alloc(bytes), 'x.bin'), purpose: 'user_data' });
    await expect(upload(10_000_001)).rejects.toMatchObject({ status: 413, param: 'file' });
    const kept = [await upload(9_000_000), await upload(2_900_000)];
    await expect(upload(200_000)).rejects.toMatchObject({ status: 413 });
    await client.files.delete(kept.shift()?.id ?? '');
    for (let at = 0; at < 5; at += 1) kept.push(await upload(10));
    await expect(upload(10)).rejects.toMatchObject({ status: 400, code: 'file_limit_reached' });
    expect((await client.files.list()).data).toHaveLength(6);
    for (const { id } of kept) await client.files.delete(id);
  });

  it('leave nothing when their upload breaks off', async () => {
    const { hostname, port } = new URL(service.apiUrls[0] ?? '');
    const socket = connect(Number(port), hostname);
    const head = [
      'POST /v1/files HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${keys['team-b']}`,
      'Content-Type: multipart/form-data; boundary=x',
      'Content-Length: 5000000',
      '',
      '--x',
      'Content-Disposition: form-data; name="file"; filename="a.bin"',
      '',
      '',
    ].join('\r\n');
    socket.write(head);
    socket.write(Buffer.alloc(100_000));
    await eventually(() => socket.bytesWritten > 100_000);
    const drafts = join(dirname(service.file), 'files', 'drafts');
    await eventually(async () => (await readdir(drafts)).length === 1);
    socket.destroy();
    await eventually(async () => (await readdir(drafts)).length === 0);
    expect((await clientOf('team-b').files.list()).data).toEqual([]);
  });

  it.each<[string, Part[], code: string, param: string]>([
    ['no file', [['purpose', 'batch']], 'missing_required_parameter', 'file'],
    ['no purpose', [filePart('a.jsonl')], 'missing_required_parameter', 'purpose'],
    ['another purpose', [filePart('a.jsonl'), ['purpose', 'fine-tune']], 'invalid_value', 'purpose'],
    ['a name that no batch has', [['purpose', 'batch'], filePart('a.txt')], 'invalid_value', 'file'],
    ['an empty file', [['purpose', 'batch'], filePart('a.jsonl', '')], 'invalid_value', 'file'],
    ['two files', [['purpose', 'user_data'], filePart('a'), filePart('b')], 'invalid_value', 'file'],
    [
      'an unknown part',
      [['purpose', 'user_data'], ['colour', 'blue'], filePart('a')],
      'unsupported_parameter',
      'colour',
    ],
  ])('are refused with %s, by name', async (_, parts, code, param) => {
    expect(await send(parts)).toMatchObject({ status: 400, body: { error: { code, param } } });
    expect((await clientOf('team-b').files.list()).data).toEqual([]);
  });

  it('are refused as JSON', async () => {
    const answer = await fetch(`${service.apiUrls[0]}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys['team-a']}`, 'content-type': 'application/json' },
      body: '{"purpose":"batch"}',
    });
    expect(answer.status).toBe(415);
  });
});
