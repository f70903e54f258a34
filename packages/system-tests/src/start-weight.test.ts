import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { workspace } from '@sluice/testing';
import { describe, expect, it } from 'vitest';

const folder = join(workspace, 'apps/sluice/dist');

const modules = new Map(
  globSync('*.js', { cwd: folder }).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
);

/** A module of the bundle that has a source, and all that it imports at once. What it imports later, when it is needed, is left out. */
function loadedWith(source: string): string[] {
  const [first] = [...modules].find(([, text]) => text.includes(`// ${source}\n`)) ?? [];
  const found = new Set<string>();
  const add = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    for (const [, imported = ''] of (modules.get(name) ?? '').matchAll(importing)) add(imported);
  };
  if (first !== undefined) add(first);
  return [...found];
}

const importing = /^import [^;]*?"\.\/([^"]+)";/gm;

/** The packages in modules of the bundle. */
function packagesIn(names: readonly string[]): string[] {
  const named = /^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm;
  const all = names.flatMap((name) =>
    [...(modules.get(name) ?? '').matchAll(named)].map(([, found = '']) => found),
  );
  return [...new Set(all)].toSorted();
}

/** Large, and of use to few processes, or long after their start. */
const later = ['@aws-sdk/client-s3', '@bull-board/api', '@fastify/static', 'glob', 'lodash', 'valibot'];

// A start costs time and memory by what it loads, in every process and each time.
describe.each([
  {
    role: 'api',
    source: 'apps/api/src/main.ts',
    needs: 'zod',
    without: [...later, 'undici'],
    mostBytes: 4_850_000,
  },
  { role: 'worker', source: 'apps/worker/src/main.ts', needs: 'zod', without: later, mostBytes: 4_550_000 },
  // A thread of every api.
  {
    role: 'lease',
    source: 'apps/api/src/lease/hold-lease.ts',
    needs: 'ioredis',
    without: [...later, 'zod', 'bullmq', 'pino'],
    mostBytes: 450_000,
  },
  {
    role: 'start',
    source: 'apps/sluice/src/start.ts',
    needs: 'zod',
    without: [...later, 'undici', 'fastify', 'bullmq'],
    mostBytes: 1_300_000,
  },
])('the start of: $role', ({ source, needs, without, mostBytes }) => {
  const loaded = loadedWith(source);

  it('loads no package that is needed later', () => {
    const packages = packagesIn(loaded);
    expect(packages).toContain(needs);
    // They are there under these names.
    expect(packagesIn([...modules.keys()])).toEqual(expect.arrayContaining(without));
    expect(packages.filter((name) => without.includes(name))).toEqual([]);
  });

  it('loads no more than it has to', () => {
    const bytes = loaded.reduce((sum, name) => sum + (modules.get(name)?.length ?? 0), 0);
    expect(bytes).toBeGreaterThan(mostBytes / 2);
    expect(bytes).toBeLessThan(mostBytes);
  });
});
