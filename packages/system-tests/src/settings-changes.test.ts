import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { forAllTests, eventually } from '@sluice/testing';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { statusAt, untilKey } from './ask-every-api.ts';
import { callerOf } from './caller.ts';
import { startScriptedUpstream } from './scripted-upstream.ts';
import { type SettingsFile, testService } from './service.ts';

interface KeyEntry {
  name: string;
  key: string;
  disabled?: boolean;
  limits?: Record<string, number>;
}

const team: KeyEntry = { name: 'team', key: 'sk-team-0123456789abcdef' };
const other: KeyEntry = { name: 'other', key: 'sk-other-0123456789abcdef' };
const narrow: KeyEntry = {
  name: 'narrow',
  key: 'sk-narrow-0123456789abcde',
  limits: { requestsPerMinute: 1 },
};

let first: string;

const upstream = forAllTests(startScriptedUpstream);
const service = testService(() => ({
  apis: 2,
  settings: {
    keys: [team, other, narrow],
    providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.fake.baseUrl }],
    models: [{ id: 'scripted', routes: [{ provider: 'upstream' }] }],
  },
}));
beforeAll(async () => {
  first = await readFile(service.file, 'utf8');
});

/** Replaces the file in one step, as an editor or a deployment does. */
async function save(text: string): Promise<void> {
  await writeFile(`${service.file}.new`, text);
  await rename(`${service.file}.new`, service.file);
}

function saveWith(changes: SettingsFile): Promise<void> {
  return save(JSON.stringify({ ...(JSON.parse(first) as SettingsFile), ...changes }, undefined, 2));
}

const everywhere = (key: string, is: 'taken' | 'refused') => untilKey(service, key, is);

/** The log lines with this message, of each api and the worker. */
function linesOf(message: string) {
  const processes = [...service.apis, ...service.workers];
  return processes.map((each) => each.logLines().filter(({ msg }) => msg === message));
}

beforeEach(() => everywhere(team.key, 'taken'));
afterEach(async () => {
  await save(first);
  await everywhere(team.key, 'taken');
  await everywhere(narrow.key, 'taken');
});

it('a revoked key is refused, also a disabled one, one that is added or rotated passes, and an open stream goes on to its end', async () => {
  const call = upstream.expect('one word');
  const caller = callerOf(service.apiUrls[0] ?? '', team.key);
  const streamed = caller.stream({ model: 'scripted', input: call.input });
  await call.arrived.wait();
  await saveWith({
    keys: [
      { ...narrow, disabled: true },
      { ...other, key: 'sk-rotated-0123456789abcd' },
    ],
  });
  await everywhere(team.key, 'refused');
  await everywhere(narrow.key, 'refused');
  await everywhere(other.key, 'refused');
  await everywhere('sk-rotated-0123456789abcd', 'taken');
  call.finish();
  expect((await streamed).final.status).toBe('completed');
});

it('a limit that is raised lets requests in that it would have refused, and what waits for a restart is named', async () => {
  const callers = service.apiUrls.map((url) => callerOf(url, narrow.key));
  const ask = async (at: number) => (await callers[at]?.create({ model: 'scripted', input: 'Hi' }))?.status;
  expect(await ask(0)).toBe(200);
  expect(await ask(1)).toBe(429);
  const raised = { ...narrow, limits: { requestsPerMinute: 1000 } };
  await saveWith({ keys: [team, raised], drainTimeoutMs: 12_345 });
  for (const at of [0, 1]) await eventually(async () => (await ask(at)) === 200);
  const message = 'settings changed that need a restart';
  await eventually(() => linesOf(message).every((lines) => lines.length > 0));
  for (const lines of linesOf(message)) {
    expect(lines).toMatchObject([{ level: 'warn', settings: ['drainTimeoutMs'] }]);
  }
});

it('a bad file, and one that is gone, changes nothing and is named in the log, until it is good again', async () => {
  const [refused, good] = ['settings file refused, the settings in effect stay', 'settings file good again'];
  const untilRefused = (times: number) =>
    eventually(() => linesOf(refused).every((lines) => lines.length === times));
  const areTaken = async () =>
    expect(await Promise.all(service.apiUrls.map((url) => statusAt(url, team.key)))).toEqual([200, 200]);
  await saveWith({ keys: [{ ...other, limits: { requestsPerMinute: 'many' } }] });
  await untilRefused(1);
  for (const lines of linesOf(refused)) {
    expect(lines).toMatchObject([
      {
        level: 'error',
        file: service.file,
        problems: [
          expect.stringMatching(
            /^keys\[0\]\.limits\.requestsPerMinute: must be a whole number .*sluice\.yaml:\d+\)$/,
          ),
        ],
      },
    ]);
  }
  await areTaken();
  await rm(service.file);
  await untilRefused(2);
  await areTaken();
  await saveWith({ keys: [other] });
  await everywhere(team.key, 'refused');
  // A line may come later than an answer that shows the same.
  await eventually(() => linesOf(good).every((lines) => lines.length > 0));
  expect(linesOf(good).map((lines) => lines.length)).toEqual([1, 1, 1]);
  for (const api of service.apis) expect(api.output()).not.toContain(other.key);
});

it('SIGHUP reloads an api and does not end it', async () => {
  const [api = expect.unreachable()] = service.apis;
  api.signal('SIGHUP');
  await api.logged('settings read again, nothing to put into effect');
  await saveWith({ keys: [other] });
  await everywhere(team.key, 'refused');
  expect(api.isRunning()).toBe(true);
});
