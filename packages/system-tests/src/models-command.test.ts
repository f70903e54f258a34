import { forAllTests, eventually } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { promptOf, startScriptedUpstream } from './scripted-upstream.ts';
import { testService } from './service.ts';
import { linesOfJson } from './sluice-process.ts';

/** The models that the upstream lists. */
let listed = ['qwen3:8b', 'llama3'];

const upstream = forAllTests(startScriptedUpstream);
beforeAll(() => {
  upstream.fake.onOther(({ json }) => json(200, { data: listed.map((id) => ({ id })) }));
});
const service = testService(() => ({
  apis: 2,
  workers: 2,
  settings: {
    providers: [
      { id: 'simulator', type: 'simulator' },
      {
        id: 'house',
        type: 'openai-chat',
        baseUrl: upstream.fake.baseUrl,
        discover: true,
        discovery: { everyMs: 1000, concurrency: 7 },
      },
    ],
    models: [
      {
        id: 'own',
        concurrency: 3,
        routes: [{ provider: 'simulator' }, { provider: 'house', model: 'llama3' }],
      },
    ],
  },
}));

const models = (...args: string[]) => service.run('models', ...args);

/** The ids of the models of each api. */
const offered = () =>
  Promise.all(
    service.apiUrls.map(async (url) => {
      const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${service.key}` } });
      const { data } = (await answer.json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    }),
  );
const everyApiOffers = (...ids: string[]) =>
  eventually(async () => (await offered()).every((each) => each.join() === ids.join()));

describe('discovered models', () => {
  it('are offered by every api as the upstream lists them, and served by every worker', async () => {
    await everyApiOffers('own', 'qwen3:8b', 'llama3');
    listed = ['llama3', 'new'];
    await everyApiOffers('own', 'llama3', 'new');
    for (const url of service.apiUrls) {
      const { body } = await callerOf(url, service.key).create({ model: 'new', input: `at ${url}` });
      expect(body.status).toBe('completed');
    }
    const gone = await service.caller.create({
      model: 'qwen3:8b',
      input: 'Hi',
    });
    expect(gone).toMatchObject({ status: 400, body: { error: { code: 'model_not_found' } } });
    expect(upstream.fake.requests.map(promptOf)).toEqual(
      expect.arrayContaining(service.apiUrls.map((url) => `at ${url}`)),
    );
  });
});

describe('sluice models', () => {
  it('shows each model with its routes, where it is from, and its queue', async () => {
    listed = ['llama3', 'new'];
    await everyApiOffers('own', 'llama3', 'new');
    const { code, output } = await models();
    expect(code).toBe(0);
    expect(output).toMatch(/^model +from +routes +queue +state +waiting +active +at most$/m);
    expect(output).toMatch(/^own +file +simulator, house:llama3 +own +open +0 +0 +3$/m);
    expect(output).toMatch(/^new +discovered +house +house +open +0 +0 +7$/m);
    expect(output).toMatch(/^house listed 2 \d+ s ago$/m);
  });

  it('shows one, as JSON, with what waits in its queue', async () => {
    const { code, output } = await models('own', '--json');
    expect(code).toBe(0);
    expect(linesOfJson(output)).toEqual([
      {
        model: 'own',
        from: 'file',
        routes: [
          { provider: 'simulator', model: 'own' },
          { provider: 'house', model: 'llama3' },
        ],
        queue: 'own',
        state: 'open',
        waiting: 0,
        active: 0,
        concurrency: 3,
      },
    ]);
  });

  it('shows the same by the name of its command', async () => {
    const [bare, named] = [await models('--json'), await models('list', '--json')];
    expect(named.code).toBe(0);
    expect(linesOfJson(named.output)).toEqual(linesOfJson(bare.output));
    expect(linesOfJson((await models('list', 'own', '--json')).output)).toMatchObject([{ model: 'own' }]);
    expect((await models('--json', 'list')).code).toBe(0);
    expect(await models('list', 'own', 'new')).toMatchObject({ code: 2 });
  });

  it('says which name was meant when there is no such model', async () => {
    const { code, output } = await models('ownn');
    expect(code).toBe(1);
    expect(output).toContain('There is no model \'ownn\': did you mean "own"?');
  });

  it('says how it is called', async () => {
    expect(await models('a', 'b')).toMatchObject({ code: 2 });
    expect((await models('--help')).output).toContain('Usage: sluice models [list] [NAME] [flags]');
  });
});
