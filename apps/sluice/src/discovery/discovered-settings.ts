import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { simulatorAlone } from '@sluice/config';
import type { FoundUpstream } from './find-upstreams.ts';

/**
 * Writes the upstreams that were found, and the simulator, as a settings file into the data folder. Returns its path. The file
 * names variables and holds no key. It appears whole or not at all, and one that already says so is left as it is: a
 * service that runs on it would notice a change.
 */
export async function writeDiscoveredSettings(
  dataDir: string,
  upstreams: readonly FoundUpstream[],
): Promise<string> {
  const path = join(dataDir, 'discovered.yaml');
  const text = discoveredSettings(upstreams);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return path;
  const draft = `${path}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

/** The file as text. JSON in each line is YAML, too. A model whose id another one has already is left out. */
export function discoveredSettings(upstreams: readonly FoundUpstream[]): string {
  const models = new Map<string, object>(simulatorAlone.models.map((model) => [model.id, model]));
  for (const { provider, models: ids, concurrency } of upstreams) {
    for (const id of ids) {
      if (models.has(id)) continue;
      models.set(id, {
        id,
        queue: provider.id,
        routes: [{ provider: provider.id }],
        ...(concurrency !== undefined && { concurrency }),
      });
    }
  }
  const providers = [...simulatorAlone.providers, ...upstreams.map(({ provider }) => provider)];
  return [
    "# The upstreams that 'sluice start' found when it last started without a settings file. Copy it to sluice.yaml to change it.",
    'providers:',
    ...providers.map((provider) => `  - ${JSON.stringify(provider)}`),
    'models:',
    ...[...models.values()].map((model) => `  - ${JSON.stringify(model)}`),
    '',
  ].join('\n');
}
