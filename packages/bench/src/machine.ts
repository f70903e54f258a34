import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';

/** What the figures depend on besides the code. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  system: string;
  node: string;
  bullmq: string;
  undici: string;
  /** Version of the workspace. */
  sluice: string;
}

export function describeMachine(): Machine {
  const { resolve } = createRequire(import.meta.url);
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version.slice(1),
    bullmq: versionIn(resolve('bullmq/package.json')),
    undici: versionIn(resolve('undici/package.json')),
    sluice: versionIn(new URL('../../../package.json', import.meta.url)),
  };
}

function versionIn(file: string | URL): string {
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version?: string }; // every package.json has this shape
  return manifest.version ?? 'unknown';
}
