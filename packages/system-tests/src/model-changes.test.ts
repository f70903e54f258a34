import { readFile, rename, writeFile } from 'node:fs/promises';
import { forAllTests, eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startBalancedLoad } from './balanced-load.ts';
import { callerOf } from './caller.ts';
import { promptOf, startScriptedUpstream } from './scripted-upstream.ts';
import { type SettingsFile, testService } from './service.ts';

const upstreams = [forAllTests(startScriptedUpstream), forAllTests(startScriptedUpstream)];

const simulators = [{ id: 'simulator', type: 'simulator' }];
const upstreamAt = (at: number) => ({
  id: 'upstream',
  type: 'openai-chat',
  baseUrl: upstreams[at]?.fake.baseUrl,
});
const modelTo = (id: string, provider = 'upstream', more: object = {}) => ({
  id,
  routes: [{ provider }],
  ...more,
});
const simulator = modelTo('simulator', 'simulator');

const service = testService(() => ({
  apis: 2,
  workers: 2,
  settings: {
    providers: [...simulators, upstreamAt(0)],
    models: [simulator, modelTo('kept'), modelTo('going', 'upstream', { concurrency: 1 })],
  },
}));

/** Replaces the file in one step, as an editor or a deployment does, and waits until every process has taken it. */
async function change(changes: SettingsFile): Promise<void> {
  const before = JSON.parse(await readFile(service.file, 'utf8')) as SettingsFile;
  await writeFile(`${service.file}.new`, JSON.stringify({ ...before, ...changes }));
  await rename(`${service.file}.new`, service.file);
  await Promise.all([...service.apis, ...service.workers].map((each) => each.logged('settings changed')));
}

const callers = () => service.apiUrls.map((url) => callerOf(url, service.key));
const [one, other] = [0, 1];
const callerAt = (at: number) => callers()[at] ?? expect.unreachable();
const upstream = (at: number) => upstreams[at] ?? expect.unreachable();
const promptsAt = (at: number) => upstream(at).fake.requests.map(promptOf);

describe('models that change under load, with two apis and two workers', () => {
  it('are added, changed and removed without an error of the service, and nothing is lost', async () => {
    const load = startBalancedLoad(service);
    let answers: string[] = [];
    try {
      const running = upstream(0).expect('one word');
      const streamed = callerAt(one).stream({ model: 'kept', input: running.input });
      await running.arrived.wait();
      const held = upstream(0).expect('nothing');
      const first = callerAt(one).create({ model: 'going', input: held.input });
      await held.arrived.wait();
      const waiting = await Promise.all(
        callers().map((caller, at) =>
          caller.create({ model: 'going', input: `waits ${at}`, background: true }),
        ),
      );
      expect(waiting.map(({ body }) => body.status)).toEqual(['queued', 'queued']);

      await change({
        providers: [...simulators, upstreamAt(1)],
        models: [simulator, modelTo('kept'), modelTo('added')],
      });
      for (const caller of callers()) {
        // A new model is served, and a changed address is called.
        for (const model of ['added', 'kept']) {
          const { status, body } = await caller.create({ model, input: `asks ${model}` });
          expect([status, body.status]).toEqual([200, 'completed']);
        }
        const refused = await caller.create({ model: 'going', input: 'too late' });
        expect(refused).toMatchObject({ status: 400, body: { error: { code: 'model_not_found' } } });
      }
      expect(promptsAt(1)).toEqual(expect.arrayContaining(['asks added', 'asks kept']));
      expect(promptsAt(0)).not.toContain('asks kept');

      // What was under way goes on where it was, and what had waited for the removed model is served.
      running.finish();
      expect((await streamed).final.status).toBe('completed');
      held.finish();
      expect((await first).body.status).toBe('completed');
      for (const { body } of waiting) {
        await eventually(async () => (await callerAt(other).get(body.id)).body.status === 'completed');
      }
      expect(promptsAt(0)).toEqual(expect.arrayContaining(['waits 0', 'waits 1']));
    } finally {
      answers = await load.end();
    }
    expect(answers).toEqual(['stream completed', 'whole 200']);
  });

  it('are read again by a worker that gets SIGHUP', async () => {
    const [worker = expect.unreachable()] = service.workers;
    worker.signal('SIGHUP');
    await worker.logged('settings read again, nothing to put into effect');
    expect(worker.isRunning()).toBe(true);
  });
});
