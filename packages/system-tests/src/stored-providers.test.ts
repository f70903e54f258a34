import { forAllTests, eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { askAdmin, untilOffered } from './ask-every-api.ts';
import { callerOf } from './caller.ts';
import { promptOf, startScriptedUpstream } from './scripted-upstream.ts';
import { testService } from './service.ts';

const actionToken = 'act-0123456789abcdef';

const upstreams = [forAllTests(startScriptedUpstream), forAllTests(startScriptedUpstream)];

const service = testService(() => ({
  apis: 2,
  workers: 2,
  env: { ADMIN_ACTION_TOKEN: actionToken, UPSTREAM_HOUSE: 'sk-house' },
  settings: {
    providers: [{ id: 'local', type: 'simulator' }],
    models: [{ id: 'simulator', routes: [{ provider: 'local' }] }],
  },
}));

const upstream = (at: number) => upstreams[at] ?? expect.unreachable();
const promptsAt = (at: number) => upstream(at).fake.requests.map(promptOf);
const callerAt = (api: number) => callerOf(service.apiUrls[api] ?? '', service.key);

const admin = (path: string, body?: object, token = actionToken) => askAdmin(service, path, { body, token });

const command = (...args: string[]) => service.run('providers', ...args);

const provider = (at: number) => ({
  id: 'house',
  type: 'openai-chat',
  baseUrl: upstream(at).fake.baseUrl,
  apiKeyVariable: 'UPSTREAM_HOUSE',
});

/** Waits until requests at each api are answered by this upstream. */
async function untilAnsweredBy(at: number, model: string): Promise<void> {
  let asked = 0;
  await eventually(
    async () => {
      // Several, so that each worker takes some.
      const inputs = Array.from({ length: 8 }, () => `asks ${model} ${(asked += 1)}`);
      await Promise.all(
        inputs.map(async (input, n) => {
          const { status, body } = await callerAt(n % 2).create({ model, input });
          expect([status, body.status]).toEqual([200, 'completed']);
        }),
      );
      expect(promptsAt(at)).toEqual(expect.arrayContaining(inputs));
      return true;
    },
    { timeoutMs: 30_000 },
  );
}

/** Asks both apis for a model, one request after the other. Returns what ends it and tells the kinds of answers. */
function startLoad(model: string): () => Promise<string[]> {
  const answers = new Set<string>();
  let isOver = false;
  const load = Array.from({ length: 6 }, async (_, client) => {
    for (let at = 0; !isOver; at += 1) {
      const { status, body } = await callerAt((client + at) % 2).create({ model, input: `load ${at}` });
      answers.add(
        `${status} ${status === 200 ? body.status : (body as { error?: { code?: string } }).error?.code}`,
      );
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(load);
    return [...answers].toSorted();
  };
}

describe('a stored provider', () => {
  it('is added with a model, moved to another upstream and removed under load, and nothing is lost', async () => {
    expect(await admin('/providers', provider(0))).toMatchObject({
      status: 200,
      body: { object: 'stored_provider', id: 'house', settings: provider(0) },
    });
    expect((await admin('/models', { id: 'night', routes: [{ provider: 'house' }] })).status).toBe(200);
    await untilOffered(service, 'night');
    await untilAnsweredBy(0, 'night');
    expect(upstream(0).fake.requests[0]?.headers.authorization).toBe('Bearer sk-house');
    const load = startLoad('night');
    let answers: string[] = [];
    try {
      const running = upstream(0).expect('one word');
      const streamed = callerAt(0).stream({ model: 'night', input: running.input });
      await running.arrived.wait();
      expect((await admin('/providers/house', { baseUrl: provider(1).baseUrl })).status).toBe(200);
      await untilAnsweredBy(1, 'night');
      // A stream under way goes on where it was.
      running.finish();
      expect((await streamed).final.status).toBe('completed');

      expect(await admin('/providers/house/remove', {})).toMatchObject({
        status: 400,
        body: { error: { param: 'id', message: expect.stringContaining('have routes to it: "night"') } },
      });
      const held = upstream(1).expect('one word');
      const last = callerAt(1).stream({ model: 'night', input: held.input });
      await held.arrived.wait();
      expect((await admin('/models/night/remove', {})).status).toBe(200);
      expect((await admin('/providers/house/remove', {})).status).toBe(200);
      await untilOffered(service, 'night', false);
      held.finish();
      expect((await last).final.status).toBe('completed');
    } finally {
      answers = await load();
    }
    expect(answers).toEqual(['200 completed', '400 model_not_found']);
    const { body: audit } = await admin('/audit');
    expect(JSON.stringify(audit)).toMatch(/provider\.remove[\s\S]*provider\.change[\s\S]*provider\.add/);
  });

  it('is needed for what waits for a removed model, also by a worker that starts later', async () => {
    await admin('/providers', provider(0));
    await admin('/models', { id: 'leaving', routes: [{ provider: 'house' }], concurrency: 1 });
    await untilOffered(service, 'leaving');
    await admin('/queues/leaving/pause', {});
    const { body } = await callerAt(0).create({ model: 'leaving', input: 'waits', background: true });
    await admin('/models/leaving/remove', { queue: 'keep' });
    expect((await admin('/providers/house/remove', {})).status).toBe(200);
    await untilOffered(service, 'leaving', false);
    await Promise.all(service.workers.map((worker) => worker.kill()));
    await service.addWorker();
    await admin('/queues/leaving/resume', {});
    await eventually(async () => (await callerAt(1).get(body.id)).body.status === 'completed', {
      timeoutMs: 60_000,
    });
    expect(promptsAt(0)).toContain('waits');
  });

  it('leaves its calls to other routes where the variable with its key is not set, and says so', async () => {
    await admin('/providers', { ...provider(0), id: 'keyless', apiKeyVariable: 'UPSTREAM_NOT_SET' });
    const { apiKeyVariable: _, ...open } = provider(1);
    expect((await admin('/providers', open)).status).toBe(200);
    const routes = [{ provider: 'keyless' }, { provider: 'house' }];
    expect((await admin('/models', { id: 'fallback', routes })).status).toBe(200);
    expect((await admin('/models', { id: 'alone', routes: routes.slice(0, 1) })).status).toBe(200);
    await untilOffered(service, 'alone');
    const worker = service.workers.at(-1) ?? expect.unreachable();
    const line = await worker.logged(
      'variable with the key of a stored provider not set, its calls fail here',
    );
    expect(line).toMatchObject({ level: 'error', provider: 'keyless', variable: 'UPSTREAM_NOT_SET' });
    const asked = await callerAt(0).create({ model: 'fallback', input: 'goes elsewhere' });
    expect([asked.status, asked.body.status]).toEqual([200, 'completed']);
    expect(promptsAt(1)).toContain('goes elsewhere');
    expect(upstream(1).fake.requests.at(-1)?.headers.authorization).toBeUndefined();
    const failed = await callerAt(0).create({ model: 'alone', input: 'goes nowhere' });
    expect(failed.body).toMatchObject({ error: { code: 'upstream_error' } });
    expect(worker.output()).toContain(
      "Provider 'keyless' needs the environment variable UPSTREAM_NOT_SET, which this process does not have.",
    );
    expect(promptsAt(0)).not.toContain('goes nowhere');
    const { upstreams: told } = (await (await fetch(`${worker.healthUrl}/upstreams`)).json()) as {
      upstreams: object[];
    };
    expect(told).toContainEqual(
      expect.objectContaining({ provider: 'keyless', missingVariable: 'UPSTREAM_NOT_SET' }),
    );
  });

  it('offers the models that its upstream lists, which go with it', async () => {
    upstream(1).fake.onOther(({ json }) => json(200, { object: 'list', data: [{ id: 'listed' }] }));
    expect((await admin('/providers', { ...provider(1), id: 'listing', discover: true })).status).toBe(200);
    await untilOffered(service, 'listed');
    const { status, body } = await callerAt(0).create({ model: 'listed', input: 'asks what is listed' });
    expect([status, body.status]).toEqual([200, 'completed']);
    expect((await admin('/providers/listing/remove', {})).status).toBe(200);
    await untilOffered(service, 'listed', false);
  });

  it('is listed, added, changed and removed by the command', async () => {
    const { baseUrl } = provider(0);
    const added = await command('add', 'by-hand', '--type', 'openai-chat', '--base-url', baseUrl);
    expect(added).toMatchObject({ code: 0, output: expect.stringContaining('without a key') });
    expect((await command('change', 'by-hand', '--api-key-variable', 'UPSTREAM_HOUSE')).output).toContain(
      'with the key in UPSTREAM_HOUSE of each worker',
    );
    expect((await command()).output).toMatch(
      /local +file +simulator[\s\S]*by-hand +stored +openai-chat +http/,
    );
    const json = JSON.parse((await command('list', 'by-hand', '--json')).output) as object;
    expect(json).toMatchObject({ id: 'by-hand', key_variable: 'UPSTREAM_HOUSE', settings: { baseUrl } });
    expect(await command('change', 'by-hand', '--api-key-variable', 'ADMIN_TOKEN')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^sluice: apiKeyVariable must be UPSTREAM_/m),
    });
    expect((await command('remove', 'by-hand')).code).toBe(0);
    expect(await command('by-hand')).toMatchObject({ code: 1 });
  });

  it.each([
    [{ id: 'local', type: 'simulator' }, 'id', 'is a provider of the settings file'],
    [{ id: 'new', type: 'openai-chat' }, 'baseUrl', 'is missing'],
    [{ id: 'new', type: 'llama-cpp', modelPath: 'x.gguf' }, 'type', 'belong in the settings file'],
    [{ id: 'new', type: 'openai-chat', apiKey: 'sk-1' }, 'apiKey', 'is kept in no store'],
    [{ id: 'new', type: 'openai-chat', apiKeyVariable: 'REDIS_URL' }, 'apiKeyVariable', 'UPSTREAM_'],
    [{ type: 'simulator' }, 'id', ''],
  ])('is refused by name: %j', async (wanted, param, text) => {
    const { status, body } = await admin('/providers', wanted);
    const { error } = body as { error: { param: string; message: string } };
    expect([status, error.param]).toEqual([400, param]);
    expect(error.message).toContain(text);
  });

  it('is not stored without the action token', async () => {
    expect((await admin('/providers', provider(0), 'wrong-token-0123456')).status).toBe(401);
  });
});
