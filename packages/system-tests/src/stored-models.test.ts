import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { askAdmin, untilOffered } from './ask-every-api.ts';
import { callerOf } from './caller.ts';
import { testService } from './service.ts';

const actionToken = 'act-0123456789abcdef';
const slow = 'Hi. [[sluice: first_token_ms=600000]]';

const service = testService(() => ({
  apis: 2,
  workers: 2,
  env: { ADMIN_ACTION_TOKEN: actionToken },
  settings: {
    providers: [{ id: 'local', type: 'simulator' }],
    models: [{ id: 'filed', routes: [{ provider: 'local' }] }],
  },
}));

const callerAt = (api: number) => callerOf(service.apiUrls[api] ?? '', service.key);

const admin = (path: string, body?: object) => askAdmin(service, path, { body, token: actionToken });

const command = (...args: string[]) => service.run('models', ...args);

/** The status of a create at each api. */
const everywhere = (model: string) =>
  Promise.all([0, 1].map(async (api) => (await callerAt(api).create({ model, input: 'Hi.' })).status));

describe('a stored model', () => {
  it('is offered by every process, changed and removed, by the admin API', async () => {
    expect(await everywhere('stored')).toEqual([400, 400]);
    const added = await admin('/models', { id: 'stored', routes: [{ provider: 'local' }], concurrency: 8 });
    expect(added).toMatchObject({
      status: 200,
      body: { object: 'stored_model', id: 'stored', concurrency: 8 },
    });
    await untilOffered(service, 'stored');
    expect(await everywhere('stored')).toEqual([200, 200]);
    expect((await admin('/models/stored', { concurrency: null })).body).toMatchObject({ concurrency: null });
    const { body: listed } = await admin('/models');
    expect(listed['data']).toEqual([
      expect.objectContaining({ id: 'filed', origin: 'file' }),
      expect.objectContaining({ id: 'stored', origin: 'stored' }),
    ]);
    expect((await admin('/models/stored/remove', {})).body).toMatchObject({
      object: 'removed_model',
      act: null,
    });
    await untilOffered(service, 'stored', false);
    expect(await everywhere('stored')).toEqual([400, 400]);
    const { body: audit } = await admin('/audit');
    expect(JSON.stringify(audit)).toMatch(/model\.remove[\s\S]*model\.change[\s\S]*model\.add/);
  });

  it('is offered, changed and removed by the command', async () => {
    expect(await command('add', 'by-hand', '--route', 'local:x', '--concurrency', '3')).toMatchObject({
      code: 0,
    });
    await untilOffered(service, 'by-hand');
    expect((await command('change', 'by-hand', '--concurrency', 'none')).output).toContain('without a limit');
    expect((await command('by-hand')).output).toMatch(/by-hand +stored +local:x/);
    expect(await command('remove', 'by-hand')).toMatchObject({ code: 0 });
    await untilOffered(service, 'by-hand', false);
    expect(await command('remove', 'by-hand')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^sluice: .*"by-hand" is not the id of a stored model/m),
    });
  });

  it('takes what waits for it along where its queue is drained, and nothing that runs', async () => {
    await admin('/models', { id: 'drained', routes: [{ provider: 'local' }], concurrency: 1 });
    await untilOffered(service, 'drained');
    const ids: string[] = [];
    for (const input of [slow, slow, slow]) {
      const { body } = await callerAt(0).create({ model: 'drained', input, background: true });
      ids.push(body.id);
    }
    const statuses = () => Promise.all(ids.map(async (id) => (await callerAt(1).get(id)).body.status));
    await eventually(async () => expect(await statuses()).toEqual(['in_progress', 'queued', 'queued']));
    expect((await admin('/models/drained/remove', { queue: 'drain' })).body).toMatchObject({
      act: { action: 'drain' },
    });
    await eventually(async () => expect(await statuses()).toEqual(['in_progress', 'cancelled', 'cancelled']));
    // Its worker would wait for it at the end.
    expect((await admin(`/responses/${ids[0]}/cancel`, {})).status).toBe(200);
  });

  it('is not removed with its queue drained where another model may have something there', async () => {
    await admin('/models', { id: 'guest', routes: [{ provider: 'local' }], queue: 'filed' });
    const refused = await admin('/models/guest/remove', { queue: 'drain' });
    expect(refused).toMatchObject({ status: 400, body: { error: { param: 'queue' } } });
    const { code, output } = await command('remove', 'guest', '--drain');
    expect([code, output]).toEqual([1, expect.stringContaining('"filed" has what waits for "filed", too')]);
    expect((await admin('/models/guest/remove', {})).status).toBe(200);
  });

  it.each([
    [{ id: 'filed', routes: [{ provider: 'local' }] }, 'id', 'is a model of the settings file'],
    [{ id: 'new', routes: [{ provider: 'lokal' }] }, 'routes[0].provider', 'did you mean'],
    [{ id: 'new', routes: [] }, 'routes', ''],
    [{ id: 'new', routes: [{ provider: 'local' }], concurency: 3 }, 'concurency', ''],
    [{ routes: [{ provider: 'local' }] }, 'id', ''],
  ])('is refused by name: %j', async (model, param, text) => {
    const { status, body } = await admin('/models', model);
    const { error } = body as { error: { param: string; message: string } };
    expect([status, error.param]).toEqual([400, param]);
    expect(error.message).toContain(text);
  });
});
