import { dirname } from 'node:path';
import { eventually } from '@sluice/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';
import { runCommand } from './sluice-process.ts';

const teams = { 'team-a': `sk-test-${'a'.repeat(32)}`, 'team-b': `sk-test-${'b'.repeat(32)}` } as const;

const service = testService(() => ({
  apis: 2,
  workers: 2,
  settings: {
    usage: { enabled: true, label: 'project' },
    keys: [
      { name: 'tester', key: teams['team-a'].replaceAll('a', 'c') },
      ...Object.entries(teams).map(([name, key]) => ({ name, key })),
    ],
    providers: [{ id: 'simulator', type: 'simulator' }],
    models: [
      { id: 'simulator', routes: [{ provider: 'simulator' }] },
      { id: 'other', routes: [{ provider: 'simulator' }], price: { input: 2, output: 8 } },
    ],
  },
}));

function clientOf(team: keyof typeof teams, api = 0): OpenAI {
  const [apiKey, baseURL] = [teams[team], `${service.apiUrls[api]}/v1`];
  // Usage asks for the key of an administrator, which is any key here.
  return new OpenAI({ apiKey, adminAPIKey: apiKey, baseURL, maxRetries: 5 });
}

type Params = Partial<OpenAI.Admin.Organization.UsageCompletionsParams>;

/** Everything that was counted of a team, over all buckets; `unknown` members are those of this service. */
async function resultsOf(client: OpenAI, params: Params = {}): Promise<Record<string, unknown>[]> {
  const start_time = Math.floor(Date.now() / 1_000) - 86_400;
  const page = await client.admin.organization.usage.completions({ start_time, ...params });
  return page.data.flatMap(({ results }) => results as unknown as Record<string, unknown>[]);
}

/** `sluice usage …`, with the settings file of the service and without its Redis. */
const command = (...args: string[]) =>
  runCommand({
    command: 'usage',
    args,
    env: { SLUICE_CONFIG: service.file, DATA_DIR: dirname(service.file) },
  });

const sumOf = (results: readonly Record<string, unknown>[], name: string) =>
  results.reduce((sum, result) => sum + Number(result[name]), 0);

describe('usage, by the official client', () => {
  it('is exact to the token, whichever process dies', async () => {
    const made: OpenAI.Responses.Response[] = [];
    const ask = async (turn: number) => {
      const client = clientOf('team-a', turn % service.apiUrls.length);
      const tokens = 1 + (turn % 7);
      const model = turn % 3 === 0 ? 'other' : 'simulator';
      const input = `Say ${'so '.repeat(turn % 5)}much. [[sluice: tokens=${tokens}]]`;
      const background = turn % 4 === 0;
      made.push(await client.responses.create({ model, input, background }));
    };
    const asking = Array.from({ length: 60 }, (_, turn) => turn);
    await Promise.all(asking.slice(0, 20).map(ask));
    // The api that counts is one of the two.
    await service.apis[0]?.kill();
    await service.workers[0]?.kill();
    const [api] = await Promise.all([
      service.addApi(Number(new URL(service.apiUrls[0] ?? '').port)),
      service.addWorker(),
    ]);
    expect(api?.url).toBe(service.apiUrls[0]);
    await Promise.all(asking.slice(20).map(ask));
    const client = clientOf('team-a');
    const ended = await eventually(async () => {
      const all = await Promise.all(made.map(({ id }) => client.responses.retrieve(id)));
      return all.every(({ status }) => status === 'completed') && all;
    });
    const wanted = (model: string) => {
      const of = ended.filter((each) => each.model === model);
      return {
        num_model_requests: of.length,
        input_tokens: of.reduce((sum, { usage }) => sum + (usage?.input_tokens ?? 0), 0),
        output_tokens: of.reduce((sum, { usage }) => sum + (usage?.output_tokens ?? 0), 0),
      };
    };
    await eventually(async () => {
      const results = await resultsOf(client, { group_by: ['model'] });
      for (const model of ['simulator', 'other']) {
        const of = results.filter((each) => each['model'] === model);
        for (const [name, count] of Object.entries(wanted(model))) expect(sumOf(of, name)).toBe(count);
      }
      return true;
    });
  });

  it('is each tenant’s own', async () => {
    const mine = clientOf('team-b', 1);
    await mine.responses.create({ model: 'simulator', input: 'Hi' });
    const [result] = await eventually(async () => {
      const results = await resultsOf(mine, { group_by: ['project_id', 'api_key_id', 'model', 'batch'] });
      return results.length > 0 && results;
    });
    expect(result).toMatchObject({
      object: 'organization.usage.completions.result',
      num_model_requests: 1,
      project_id: 'team-b',
      api_key_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      model: 'simulator',
      batch: false,
      num_completed: 1,
    });
    expect(await resultsOf(mine, { project_ids: ['team-a'] })).toEqual([]);
    expect(await resultsOf(mine, { api_key_ids: [String(result?.['api_key_id'])] })).toHaveLength(1);
    expect(await resultsOf(mine, { models: ['other'] })).toEqual([]);
  });

  it('has what it cost, by the price of the model', async () => {
    const mine = clientOf('team-b');
    const { usage } = await mine.responses.create({ model: 'other', input: 'Hi' });
    await mine.responses.create({ model: 'simulator', input: 'Hi' });
    const costsOf = async (line_item: string) => {
      const start_time = Math.floor(Date.now() / 1_000) - 86_400;
      const page = await mine.admin.organization.usage.costs({ start_time, group_by: ['line_item'] });
      const results = page.data.flatMap(
        ({ results: each }) =>
          each as unknown as OpenAI.Admin.Organization.UsageCostsResponse.Data.OrganizationCostsResult[],
      );
      return results.filter((each) => each.line_item === line_item).map(({ amount }) => amount);
    };
    const value = ((usage?.input_tokens ?? 0) * 2 + (usage?.output_tokens ?? 0) * 8) / 1e6;
    expect(value).toBeGreaterThan(0);
    const amount = { value: expect.closeTo(value, 9), currency: 'usd' };
    await eventually(async () => (await costsOf('other')).length > 0);
    expect(await costsOf('other')).toEqual([amount]);
    await eventually(async () => (await costsOf('simulator')).length > 0);
    expect(await costsOf('simulator')).toEqual([{ value: 0, currency: 'usd' }]);
  });

  it('is told apart by a member of the metadata', async () => {
    const mine = clientOf('team-b');
    await mine.responses.create({
      model: 'simulator',
      input: 'Hi',
      metadata: { project: 'blue', other: 'x' },
    });
    const group_by = ['label'] as unknown as Params['group_by']; // an addition of this service
    await eventually(async () => {
      const results = await resultsOf(mine, { ...(group_by && { group_by }) });
      return results.some(({ label, num_model_requests: count }) => label === 'blue' && count === 1);
    });
  });

  it('counts what was cancelled', async () => {
    const mine = clientOf('team-b');
    const { id } = await mine.responses.create({
      model: 'simulator',
      input: 'Hi [[sluice: first_token_ms=600000]]',
      background: true,
    });
    await mine.responses.cancel(id);
    await eventually(async () => sumOf(await resultsOf(mine), 'num_cancelled') === 1);
  });

  it('is told of all tenants by the command and the admin API', async () => {
    const json = await command('--json', '--by', 'tenant', '--each', 'day');
    const rows = json.output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(new Set(rows.map(({ tenant }) => tenant))).toEqual(new Set(['team-a', 'team-b']));
    expect(sumOf(rows, 'responses')).toBe(65);
    expect((await command()).output).toMatch(/^tenant +model +responses[\s\S]*team-b +simulator +4 /m);
    expect((await command('--csv')).output).toContain('since,until,tenant,model,responses');
    expect(await command('--by', 'colour')).toMatchObject({ code: 2 });
    expect((await command('--data-dir', '/nowhere')).output).toContain('There is no usage at /nowhere');
    const start = Math.floor(Date.now() / 1_000) - 86_400;
    const url = `${service.adminUrls[1]}/admin/v1/usage/completions?start_time=${start}&group_by=project_id`;
    const page = (await (await fetch(url)).json()) as { data: { results: Record<string, unknown>[] }[] };
    const results = page.data.flatMap((bucket) => bucket.results);
    expect(new Set(results.map(({ project_id }) => project_id))).toEqual(new Set(['team-a', 'team-b']));
  });

  it.each([
    [{ start_time: -1 }, 'start_time'],
    [{ bucket_width: '1m' as const }, 'bucket_width'],
    [{ limit: 400 }, 'limit'],
    [{ group_by: ['user_id' as const] }, 'group_by[0]'],
  ])('refuses %j by name', async (params, param) => {
    await expect(resultsOf(clientOf('team-a'), params)).rejects.toMatchObject({ status: 400, param });
  });
});
