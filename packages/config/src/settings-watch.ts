import { type BigIntStats, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import {
  type ChangedModels,
  changedKeys,
  changedModels,
  changesForRestart,
  hasChangedModels,
  haveSameLimits,
  haveSameTenants,
} from './changed-settings.ts';
import { readCommandLine } from './command-line.ts';
import { ConfigError, describeProblem } from './config-error.ts';
import { type FileSources, loadSettingsInThread } from './load-in-thread.ts';
import { loadSettings } from './load-settings.ts';
import type { Settings } from './settings.ts';
import { settingsPath } from './settings-file.ts';

/** Takes the reports of the watch; a logger of the process. Fields hold no secret. */
export interface SettingsLog {
  info: (fields: object, message: string) => void;
  warn: (fields: object, message: string) => void;
  error: (fields: object, message: string) => void;
}

export interface SettingsWatchOptions {
  /** Puts the live part of new settings into effect. They are refused if it throws. */
  apply: (settings: Settings) => void | Promise<void>;
  log: SettingsLog;
  /** Pause between two looks at the file, in milliseconds; a second by default. */
  intervalMs?: number;
  /**
   * When a refused file is read again although it has not changed, because the cause may be elsewhere, in milliseconds; half
   * a minute by default.
   */
  retryRefusedMs?: number;
  /** Loads the settings anew; in a thread by default. */
  load?: (sources: FileSources, signal: AbortSignal) => Promise<Settings>;
}

/** Settings as a process starts with them, and a watch for later changes of their file. */
export interface OpenSettings {
  settings: Settings;
  watch: (options: SettingsWatchOptions) => SettingsWatch;
}

/** Loads settings like `loadSettings`. The watch also finds a change that comes between this call and its own start. */
export function openSettings(sources: FileSources): OpenSettings {
  const { env, argv, cwd, role = 'start' } = sources;
  const path = settingsPath({ env, flags: readCommandLine(argv, role).values, cwd });
  // Before the file is read: a later change then looks like one.
  const seen = versionOfNow(path);
  const settings = loadSettings(sources);
  return { settings, watch: (options) => new SettingsWatch({ sources, path, seen, settings }, options) };
}

const defaultIntervalMs = 1000;
const defaultRetryRefusedMs = 30_000;
/** Most problems and paths in one line of the log. */
const mostNamed = 20;

interface Watched {
  sources: FileSources;
  path: string;
  /** The version of the file that the process started with. */
  seen: string;
  settings: Settings;
}

/**
 * Watches the settings file, and puts changes into effect while the process runs, where they can be.
 *
 * It asks for the file's version at an interval. Notifications of the file system miss changes: editors rename a file over the
 * old one, and Kubernetes swaps a symbolic link two folders above. A file that changes while it is read is read again.
 *
 * A file that is bad, or gone, is refused as a whole, and the settings in effect stay. That is logged once. So are a file
 * that is good again, and the changes that wait for a restart.
 */
export class SettingsWatch {
  readonly #watched: Watched;
  readonly #options: SettingsWatchOptions;
  readonly #stopping = new AbortController();
  #seen: string;
  #current: Settings;
  #isAsked = false;
  #refused: { why: string; retryAt: number } | undefined;
  #waitingForRestart = '';
  #running: Promise<void> | undefined;
  #wake = () => {};

  /** Made by `openSettings`. */
  constructor(watched: Watched, options: SettingsWatchOptions) {
    this.#watched = watched;
    this.#options = options;
    this.#seen = watched.seen;
    this.#current = watched.settings;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Reads the file at once, changed or not, and says so. A call while it is being read leads to one more reading. */
  reload(): void {
    this.#isAsked = true;
    this.#wake();
  }

  /** Ends the watch, also in the middle of a reading; may be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the watch of the settings file stops'));
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#pause();
      if (!this.#stopping.signal.aborted) await this.#look();
    }
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#options.intervalMs ?? defaultIntervalMs);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    if (this.#isAsked) this.#wake();
    return promise;
  }

  async #look(): Promise<void> {
    const seen = await versionOf(this.#watched.path);
    const isDue = this.#refused !== undefined && performance.now() >= this.#refused.retryAt;
    if (seen === this.#seen && !this.#isAsked && !isDue) return;
    const wasAsked = this.#isAsked;
    this.#isAsked = false;
    const { load = loadSettingsInThread } = this.#options;
    const loaded = await load(this.#watched.sources, this.#stopping.signal).then(
      (settings) => ({ settings }),
      (error: unknown) => ({ error }),
    );
    if (this.#stopping.signal.aborted) return;
    // Written while it was read. The next look reads it again.
    if (seen !== (await versionOf(this.#watched.path))) return;
    this.#seen = seen;
    try {
      if ('error' in loaded) throw loaded.error;
      await this.#takeOver(loaded.settings, wasAsked);
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #takeOver(settings: Settings, wasAsked: boolean): Promise<void> {
    const before = this.#current;
    const { path: file, settings: started } = this.#watched;
    // Without its file a process would go on with the defaults, which know no key.
    if (before.file !== undefined && settings.file === undefined) {
      throw fault(file, 'there is no such file; create it again');
    }
    // Many editors empty a file before they write it, or begin with a line break. Keys may be stored, so a file without any
    // has models to lose.
    if (settings.isFileBlank && !before.isFileBlank) {
      throw fault(
        file,
        'the file is empty or has comments alone; write `keys: []` to do without all that was in it',
      );
    }
    const { log, apply } = this.#options;
    const { added, revoked, changed } = changedKeys(before.keys, settings.keys);
    const limitsChanged = !haveSameLimits(before, settings);
    const models = changedModels(before, settings);
    const isChanged =
      limitsChanged ||
      added + revoked + changed > 0 ||
      !haveSameTenants(before, settings) ||
      hasChangedModels(models);
    if (isChanged) await apply(settings);
    this.#current = settings;
    if (this.#refused !== undefined) log.info({ file }, 'settings file good again');
    this.#refused = undefined;
    if (isChanged) {
      log.info(
        {
          file,
          keysAdded: added,
          keysRevoked: revoked,
          keysChanged: changed,
          limitsChanged,
          ...namesOf(models),
        },
        'settings changed',
      );
    } else if (wasAsked) log.info({ file }, 'settings read again, nothing to put into effect');
    this.#nameWhatWaits(changesForRestart(started, settings));
  }

  #nameWhatWaits(settings: readonly string[]): void {
    const waiting = settings.join('\n');
    if (waiting === this.#waitingForRestart) return;
    this.#waitingForRestart = waiting;
    if (settings.length === 0) return;
    const { path: file } = this.#watched;
    this.#options.log.warn(
      { file, count: settings.length, settings: settings.slice(0, mostNamed) },
      'settings changed that need a restart',
    );
  }

  #refuse(error: unknown): void {
    const why = error instanceof Error ? error.message : typeof error;
    const isNew = this.#refused?.why !== why;
    const { retryRefusedMs = defaultRetryRefusedMs } = this.#options;
    this.#refused = { why, retryAt: performance.now() + retryRefusedMs };
    if (!isNew) return;
    const { path: file } = this.#watched;
    const message = 'settings file refused, the settings in effect stay';
    if (!(error instanceof ConfigError)) {
      this.#options.log.error({ file, err: error }, message);
      return;
    }
    const problems = error.problems.slice(0, mostNamed).map(describeProblem);
    this.#options.log.error({ file, count: error.problems.length, problems }, message);
  }
}

/** The models and providers that have changed, as fields of the log; empty ones are left out. */
function namesOf({ added, removed, changed, providers }: ChangedModels): object {
  const lists = {
    modelsAdded: added,
    modelsRemoved: removed,
    modelsChanged: changed,
    providersChanged: providers,
  };
  const told = Object.entries(lists).filter(([, names]) => names.length > 0);
  return Object.fromEntries(told.map(([field, names]) => [field, names.slice(0, mostNamed)]));
}

function fault(file: string, message: string): ConfigError {
  return new ConfigError([{ path: '', message, file }]);
}

/** Text that differs between any two versions of a file. Follows symbolic links. */
async function versionOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(version, withoutVersion);
}

function versionOfNow(path: string): string {
  try {
    return version(statSync(path, { bigint: true }));
  } catch (error) {
    return withoutVersion(error);
  }
}

/** It includes the time of the last change of the inode, because tools can set back the time of the last write. */
function version({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function withoutVersion(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
