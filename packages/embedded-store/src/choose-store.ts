import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** `external`: the operator's Redis. `server`: a server from the PATH. `embedded`: Valkey as WebAssembly. */
export type StoreKind = 'external' | 'server' | 'embedded';

/** The Redis to use, and the reason for the operator to read. */
export type StoreChoice =
  | { kind: 'external'; url: string; why: string }
  | { kind: 'server'; binary: string; why: string }
  | { kind: 'embedded'; why: string };

export interface StoreSurroundings {
  /** The operator's `REDIS_URL`. An empty one counts as not set. */
  redisUrl: string | undefined;
  /** The `PATH` to search for a server. */
  path: string | undefined;
}

/** Chooses the operator's Redis, else a server from the PATH, Valkey first, else the embedded store. Starts nothing. */
export function chooseStore({ redisUrl, path }: StoreSurroundings): StoreChoice {
  if (redisUrl !== undefined && redisUrl !== '') {
    return { kind: 'external', url: redisUrl, why: 'REDIS_URL is set' };
  }
  for (const name of SERVER_BINARIES) {
    const binary = findOnPath(name, path ?? '');
    if (binary !== undefined) {
      return { kind: 'server', binary, why: `REDIS_URL is not set and ${name} is on the PATH` };
    }
  }
  return {
    kind: 'embedded',
    why: `REDIS_URL is not set and neither ${SERVER_BINARIES.join(' nor ')} is on the PATH`,
  };
}

const SERVER_BINARIES = ['valkey-server', 'redis-server'];

/** Neither server exists for Windows, so endings such as `.exe` are not tried. */
function findOnPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
