import { rename, writeFile } from 'node:fs/promises';
import { eventually } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { promptOf, type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { type Service, type SettingsFile, startService } from './service.ts';

let upstreams: ScriptedUpstream[];
let service: Service;

const key = 'sk-team-0123456789abcdef';
const simulators = [{ id: 'simulator', type: 'simulator' }];
const upstreamAt = (at: number, id = 'upstream') => ({
  id,
  type: 'openai-chat',
  baseUrl: upstreams[at]?.fake.baseUrl,
});
const modelTo = (id: string, provider = 'upstream', more: object = {}) => ({
  id,
  routes: [{ provider }],
  ...more,
});
const simulator = modelTo('simulator', 'simulator');

let written: SettingsFile;

beforeAll(async () => {
  upstreams = [await startScriptedUpstream(), await startScriptedUpstream()];
  written = {
    keys: [{ name: 'team', key }],
    providers: [...simulators, upstreamAt(0)],
    models: [simulator, modelTo('kept'), modelTo('going', 'upstream', { concurrency: 1 })],
  };
  service = await startService({ apis: 2, workers: 2, settings: written });
});
afterAll(async () => {
  await service?.stop();
  await Promise.all((upstreams ?? []).map((each) => each.close()));
});

/** Replaces the file in one step, as an editor or a deployment does. */
async function save(changes: SettingsFile): Promise<void> {
  const text = JSON.stringify({
    keyPrefix: `${service.redis.prefix}:`,
    logLevel: 'info',
    ...written,
    ...changes,
  });
  await writeFile(`${service.file}.new`, text);
  await rename(`${service.file}.new`, service.file);
}

const processes = () => [...service.apis, ...service.workers];

/** Waits until every process has said something this many times. */
async function everywhere(message: string, times = 1): Promise<void> {
  const count = (lines: { msg?: unknown }[]) => lines.filter(({ msg }) => msg === message).length;
  await eventually(() => processes().every((each) => count(each.logLines()) >= times));
}

/** Saves a file and waits until every process has taken it. */
async function change(changes: SettingsFile): Promise<void> {
  const count = (lines: { msg?: unknown }[]) => lines.filter(({ msg }) => msg === 'settings changed').length;
  const before = processes().map((each) => count(each.logLines()));
  await save(changes);
  await eventually(() => processes().every((each, at) => count(each.logLines()) > (before[at] ?? 0)));
}

const callers = () => service.apiUrls.map((url) => callerOf(url, key));
const [one, other] = [0, 1];
const callerAt = (at: number) => callers()[at] ?? expect.unreachable();
const upstream = (at: number) => upstreams[at] ?? expect.unreachable();
const promptsAt = (at: number) => upstream(at).fake.requests.map(promptOf);

/** Asks both apis for whole responses and streams, one after the other. Returns what ends it and tells the kinds of answers. */
function startLoad(clients = 8): () => Promise<string[]> {
  const answers = new Set<string>();
  let isOver = false;
  const load = Array.from({ length: clients }, async (_, client) => {
    for (let at = 0; !isOver; at += 1) {
      const caller = callerAt((client + at) % 2);
      const input = `Client ${client}, request ${at}. [[sluice: tokens=20 tokens_per_second=40]]`;
      try {
        if (at % 2 === 0) answers.add(`stream ${(await caller.stream({ input })).final.status}`);
        else {
          const { status, body } = await caller.create({ input });
          answers.add(`whole ${status} ${body.status}`);
        }
      } catch (error) {
        answers.add(`lost: ${String(error)}`);
      }
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(load);
    return [...answers].toSorted();
  };
}

describe('models that change under load, with two apis and two workers', () => {
  it('are added, changed and removed without an error of the service, and nothing is lost', async () => {
    const load = startLoad();
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
      answers = await load();
    }
    expect(answers).toEqual(['stream completed', 'whole 200 completed']);
  });

  it('stay as they are when the file is bad, which every process says with the field', async () => {
    await save({
      models: [simulator, { ...modelTo('kept'), concurrency: 'many' }, modelTo('new', 'nobody')],
    });
    const refused = 'settings file refused, the settings in effect stay';
    await everywhere(refused);
    for (const each of processes()) {
      const line = each.logLines().find(({ msg }) => msg === refused);
      expect(line).toMatchObject({
        level: 'error',
        problems: [
          expect.stringMatching(/^models\[1\]\.concurrency: /),
          expect.stringMatching(/^models\[2\]\.routes\[0\]\.provider: "nobody" is not the id of a provider/),
        ],
      });
    }
    const { body } = await callerAt(one).create({ model: 'kept', input: 'still there' });
    expect(body.status).toBe('completed');
    await save({});
    await everywhere('settings file good again');
  });

  it('are read again by a worker that gets SIGHUP', async () => {
    const [worker = expect.unreachable()] = service.workers;
    worker.signal('SIGHUP');
    await worker.logged('settings read again, nothing to put into effect');
    expect(worker.isRunning()).toBe(true);
  });
});
