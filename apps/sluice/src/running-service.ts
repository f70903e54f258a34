import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bornAt, errorCode, FatalError, isRunning, type ProcessIdentity } from '@sluice/runtime';

/** The addresses of the parts of a service that `start` runs, and what it runs on. */
export interface RunningService {
  /** The address of its Redis, which may hold a password. */
  store: string;
  url: string;
  adminUrl: string;
  /** The settings file of its processes, as an absolute path; absent when there is none. */
  settingsFile?: string;
}

/** A note of a running service in its data folder. */
export interface RunningServiceNote {
  /** Removes the note, unless another service has written its own since. Twice is fine. */
  remove: () => void;
}

/** The note of a service in a data folder. The service runs, or it ended without removing its note. */
export type FoundService =
  | (RunningService & { kind: 'running'; pid: number; file: string })
  | { kind: 'ended'; pid: number; file: string };

const fileName = 'running-service.json';

/**
 * Writes down where a service runs and on which settings file, readable by its owner alone, so that commands beside it find it. A folder that cannot be
 * written to is reported, and is no reason to stop: the commands then need to be told the addresses.
 */
export function noteRunningService(dataDir: string, service: RunningService): RunningServiceNote {
  const file = join(dataDir, fileName);
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // A draft that a killed process with this id has left would keep its permissions.
    rmSync(draft, { force: true });
    const note: Note = { pid: process.pid, bornAt: bornAt(process.pid), ...service };
    writeFileSync(draft, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(draft, file);
  } catch (error) {
    console.error(
      `sluice: ${file} cannot be written (${errorCode(error)}), so other commands of sluice need REDIS_URL and SLUICE_URL`,
    );
  }
  return {
    remove() {
      if (readNote(file)?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

/**
 * Finds the service that `start` runs with this data folder; undefined when the folder tells of none.
 *
 * @throws {FatalError} when the folder belongs to somebody else.
 */
export function findRunningService(dataDir: string): FoundService | undefined {
  const file = join(dataDir, fileName);
  const note = readNote(file);
  if (note === undefined) return undefined;
  const { pid, store, url, adminUrl, settingsFile } = note;
  if (!isRunning(note)) return { kind: 'ended', pid, file };
  const running = { kind: 'running', pid, file, store, url, adminUrl } as const;
  return settingsFile === undefined ? running : { ...running, settingsFile };
}

type Note = ProcessIdentity & RunningService;

function readNote(file: string): Note | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'EACCES') {
      throw new FatalError(`${file} cannot be read: run this as the user who started the service.`);
    }
    return undefined;
  }
  try {
    const note: unknown = JSON.parse(text);
    // This file writes whole notes and nothing else under the name, so the cast holds.
    return typeof note === 'object' && note !== null && 'pid' in note ? (note as Note) : undefined;
  } catch {
    return undefined;
  }
}
