import { mkdir, rename, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, latch, temporaryFolder } from '@sluice/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError } from './config-error.ts';
import { type FileSources, loadSettingsInThread } from './load-in-thread.ts';
import { loadSettings } from './load-settings.ts';
import type { Settings } from './settings.ts';
import { openSettings, type SettingsWatch, type SettingsWatchOptions } from './settings-watch.ts';

interface Line {
  level: 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

let directory: string;
let file: string;
let watch: SettingsWatch;
let applied: Settings[];
let lines: Line[];
let loads: number;
const env: Record<string, string> = {};

beforeEach(() => {
  directory = temporaryFolder();
  file = join(directory, 'sluice.yaml');
  [applied, lines, loads] = [[], [], 0];
  for (const name of Object.keys(env)) delete env[name];
});

const withKeys = (...names: string[]) =>
  `keys:\n${names.map((name) => `  - { name: ${name}, key: key-of-${name} }\n`).join('')}`;

function open(options: Partial<SettingsWatchOptions> = {}) {
  const log = (level: Line['level']) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } });
  const opened = openSettings({ env, argv: [], cwd: directory });
  watch = opened.watch({
    apply: (settings) => void applied.push(settings),
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    intervalMs: 1,
    load: async (from) => {
      loads += 1;
      return loadSettings(from);
    },
    ...options,
  });
  onTestFinished(() => watch.stop());
  return { settings: opened.settings, watch };
}

/** Replaces the file in one step, so that no look finds half of it. */
async function save(text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

/** Saves the file, and starts to watch it. */
async function started(text: string, options?: Partial<SettingsWatchOptions>) {
  await save(text);
  const opened = open(options);
  opened.watch.start();
  return opened;
}

const namesApplied = () => applied.map(({ keys }) => keys.map(({ name }) => name));
const said = (message: string) => lines.filter((line) => line.message === message);
const logged = (message: string, count = 1) => eventually(() => said(message).length >= count);
const refused = 'settings file refused, the settings in effect stay';

/** Waits until the watch has looked at the file a few times more. */
async function untilLookedAgain(): Promise<void> {
  const before = loads;
  watch.reload();
  await eventually(() => loads > before);
}

describe('the watch of the settings file', () => {
  it('puts a change into effect', async () => {
    await writeFile(file, withKeys('a', 'b'));
    open().watch.start();
    await writeFile(file, withKeys('b', 'c', 'd'));
    await logged('settings changed');
    expect(namesApplied()).toEqual([['b', 'c', 'd']]);
    expect(said('settings changed')).toMatchObject([
      { level: 'info', fields: { file, keysAdded: 2, keysRevoked: 1, keysChanged: 0, limitsChanged: false } },
    ]);
  });

  it('notices an editor that renames a new file over the old one, of the same size and time', async () => {
    await writeFile(file, withKeys('a'));
    await utimes(file, 1_000, 1_000);
    open().watch.start();
    await writeFile(`${file}.new`, withKeys('b'));
    await utimes(`${file}.new`, 1_000, 1_000);
    await rename(`${file}.new`, file);
    await logged('settings changed');
    expect(namesApplied()).toEqual([['b']]);
  });

  it('notices a write that keeps the size and sets back the time', async () => {
    await writeFile(file, withKeys('a'));
    await utimes(file, 1_000, 1_000);
    open().watch.start();
    await writeFile(file, withKeys('b'));
    await utimes(file, 1_000, 1_000);
    await eventually(() => namesApplied().at(-1)?.[0] === 'b');
  });

  it('follows the links of a config map of Kubernetes', async () => {
    for (const [version, name] of [
      ['v1', 'a'],
      ['v2', 'b'],
    ] as const) {
      await mkdir(join(directory, version));
      await writeFile(join(directory, version, 'sluice.yaml'), withKeys(name));
    }
    await symlink('v1', join(directory, '..data'));
    await symlink(join('..data', 'sluice.yaml'), file);
    open().watch.start();
    await symlink('v2', join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
    await logged('settings changed');
    expect(namesApplied()).toEqual([['b']]);
  });

  it('finds what changed between the load and its own start', async () => {
    await save(withKeys('a'));
    const opened = open();
    await save(withKeys('a', 'b'));
    opened.watch.start();
    await logged('settings changed');
    expect(namesApplied()).toEqual([['a', 'b']]);
  });

  it('finds a file that was not there', async () => {
    const opened = open();
    expect(opened.settings).not.toHaveProperty('file');
    opened.watch.start();
    await save(withKeys('a'));
    await logged('settings changed');
    expect(namesApplied()).toEqual([['a']]);
  });

  it('reads the file once for each change', async () => {
    await started(withKeys('a'));
    for (const [at, name] of ['b', 'c', 'd'].entries()) {
      await save(withKeys(name));
      await logged('settings changed', at + 1);
    }
    expect(loads).toBe(3);
  });

  it('refuses a bad file as a whole, says why once, and says when it is good again', async () => {
    await started(withKeys('a'));
    const bad = `${withKeys('b')}limits: { queued: none }\n`;
    await save(bad);
    await logged(refused);
    await save(`${bad}\n`);
    await untilLookedAgain();
    await save(withKeys('c'));
    await logged('settings changed');
    expect(namesApplied()).toEqual([['c']]);
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      `error ${refused}`,
      'info settings file good again',
      'info settings changed',
    ]);
    expect(lines[0]?.fields).toMatchObject({
      problems: ['limits.queued: must be a whole number from 1 to 2000000, not text (./sluice.yaml:3)'],
    });
  });

  it('says it anew when the file is bad for another reason', async () => {
    await started(withKeys('a'));
    await save('keys: [\n');
    await logged(refused);
    await save(`keys: [{ name: b, key: x, models: [nope] }]`);
    await logged(refused, 2);
    expect(said(refused)[1]?.fields['problems']).toEqual([
      expect.stringContaining('keys[0].models[0]: "nope" is not the id of a model'),
    ]);
    expect(applied).toEqual([]);
  });

  it.each([
    ['by its default name', {}],
    ['by a variable', { SLUICE_CONFIG: 'sluice.yaml' }],
  ])('keeps the keys when a file that is found %s is gone', async (_, variables) => {
    Object.assign(env, variables);
    await started(withKeys('a'));
    await unlink(file);
    await logged(refused);
    expect(said(refused)[0]?.fields['problems']).toEqual([expect.stringContaining('there is no such file')]);
    await save(withKeys('a'));
    await logged('settings file good again');
    expect(applied).toEqual([]);
  });

  it.each([
    ['an empty file', ''],
    ['a file of white space', ' \n\n'],
    ['a file of a byte order mark', '\uFEFF'],
    ['a file of comments', '# keys:\n'],
    ['a document without content', '---\n'],
    ['a document that is null', 'null\n'],
  ])('takes %s for one that is being written, not for a service without keys', async (_, text) => {
    await started(withKeys('a'), { load: loadSettingsInThread });
    await save(text);
    await logged(refused);
    expect(said(refused)[0]?.fields['problems']).toEqual([expect.stringContaining('the file is empty')]);
    await save('keys: []');
    await logged('settings changed');
    expect(namesApplied()).toEqual([[]]);
  });

  it('takes an empty file for one that is being written, too, when it had no keys', async () => {
    await started('providers: [{ id: p, type: simulator }]\nmodels: [{ id: m, routes: [{ provider: p }] }]');
    await save('');
    await logged(refused);
    expect(said(refused)[0]?.fields['problems']).toEqual([expect.stringContaining('the file is empty')]);
    expect(applied).toEqual([]);
  });

  it('takes a file of comments as it is where the service has started with one', async () => {
    await started('# nothing yet\n', { intervalMs: 2 ** 30 });
    await save('# still nothing\n');
    watch.reload();
    await logged('settings read again, nothing to put into effect');
    expect(said(refused)).toEqual([]);
  });

  it('reads a file again that changed while it was read', async () => {
    const [reading, written] = [latch(), latch()];
    const load = async (from: FileSources) => {
      const settings = loadSettings(from);
      reading.open();
      await written.wait();
      return settings;
    };
    await started(withKeys('a'), { load });
    await save(withKeys('half'));
    await reading.wait();
    await save(withKeys('whole', 'file'));
    written.open();
    await logged('settings changed');
    expect(namesApplied()).toEqual([['whole', 'file']]);
  });

  it('reads at once when it is told to, with the environment as it is then', async () => {
    env['KEY'] = 'first-value-of-the-key';
    const { settings } = await started('keys: [{ name: a, key: "${KEY}" }]', {
      intervalMs: 2 ** 30,
    });
    env['KEY'] = 'other-value-of-the-key';
    watch.reload();
    await logged('settings changed');
    expect(applied[0]?.keys[0]?.hash).not.toBe(settings.keys[0]?.hash);
  });

  it('says that it has read what did not change, if it was told to read', async () => {
    await started(withKeys('a'), { intervalMs: 2 ** 30 });
    watch.reload();
    await logged('settings read again, nothing to put into effect');
    expect(applied).toEqual([]);
  });

  it('reads a refused file again after a while, because the cause may be elsewhere', async () => {
    env['KEY'] = 'first-value-of-the-key';
    await started(withKeys('a'), { retryRefusedMs: 1 });
    await save('keys: [{ name: b, key: "${OTHER}" }]');
    await logged(refused);
    env['OTHER'] = 'value-of-the-other-key';
    await logged('settings changed');
    expect(namesApplied()).toEqual([['b']]);
  });

  it('names what waits for a restart, without its value, and only once', async () => {
    await started(withKeys('a'));
    const changed = `server: { adminToken: a-secret-of-the-operator }\nlimits: { contextTurns: 5 }\n`;
    await save(`${withKeys('a')}${changed}`);
    await logged('settings changed that need a restart');
    await save(`${withKeys('a', 'b')}${changed}`);
    await logged('settings changed');
    expect(lines.map(({ message }) => message)).toEqual([
      'settings changed that need a restart',
      'settings changed',
    ]);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { count: 2, settings: ['server.adminToken', 'limits.contextTurns'] },
    });
    expect(JSON.stringify(lines)).not.toContain('a-secret-of-the-operator');
  });

  it('puts models and providers into effect, and names those that have changed', async () => {
    const fileWith = (concurrency: number, models: readonly string[], host: string) =>
      [
        `providers: [{ id: p, type: simulator }, { id: q, type: openai-chat, apiKey: a-secret, baseUrl: "http://${host}" }]`,
        'models:',
        ...models.map((id) => `  - { id: ${id}, concurrency: ${concurrency}, routes: [{ provider: p }] }`),
      ].join('\n');
    await started(fileWith(1, ['m', 'n'], 'one'));
    await save(fileWith(2, ['m', 'o'], 'two'));
    await logged('settings changed');
    expect(lines).toMatchObject([
      {
        message: 'settings changed',
        fields: {
          modelsAdded: ['o'],
          modelsRemoved: ['n'],
          modelsChanged: ['m'],
          providersChanged: ['q'],
        },
      },
    ]);
    expect(applied.at(-1)?.models.map(({ concurrency }) => concurrency)).toEqual([2, 2]);
    expect(JSON.stringify(lines)).not.toContain('a-secret');
  });

  it('keeps the old settings when they cannot be put into effect', async () => {
    const apply = () => {
      throw new ConfigError([{ path: 'DATA_DIR', message: 'cannot be kept' }]);
    };
    await started(withKeys('a'), { apply });
    await save('keys: []');
    await logged(refused);
    expect(said(refused)[0]?.fields['problems']).toEqual(['DATA_DIR: cannot be kept']);
  });

  it('stops in the middle of a reading, and twice', async () => {
    const reading = latch();
    const load = (_: FileSources, signal: AbortSignal) =>
      new Promise<Settings>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        reading.open();
      });
    await started(withKeys('a'), { load });
    await save(withKeys('b'));
    await reading.wait();
    await watch.stop();
    await watch.stop();
    expect(lines).toEqual([]);
  });
});

describe('the thread that loads settings', () => {
  // Threads start slowly on a busy machine.
  it('gives the same settings as a load at the start, and the same problems', {
    timeout: 30_000,
  }, async () => {
    const { settings } = await started(withKeys('a', 'b'), { load: loadSettingsInThread });
    await save(`${withKeys('a', 'b')}limits: { queued: 7 }`);
    await logged('settings changed');
    expect(applied).toEqual([{ ...settings, limits: { ...settings.limits, queued: 7 } }]);
    await save('limits: { queued: 0 }');
    await logged(refused);
    expect(said(refused)[0]?.fields['problems']).toEqual([
      'limits.queued: must be a whole number from 1 to 2000000 (./sluice.yaml:1)',
    ]);
  });
});
