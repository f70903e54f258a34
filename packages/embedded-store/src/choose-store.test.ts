import { writeFileSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { temporaryFolder } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { chooseStore } from './choose-store.ts';

function folderWith(...programs: string[]): string {
  const folder = temporaryFolder();
  for (const program of programs) writeFileSync(join(folder, program), '', { mode: 0o755 });
  return folder;
}

describe('choice of a store', () => {
  it('prefers what the operator set', () => {
    expect(chooseStore({ redisUrl: 'redis://db', path: folderWith('redis-server') })).toEqual({
      kind: 'external',
      url: 'redis://db',
      why: 'REDIS_URL is set',
    });
  });

  it('takes Valkey before Redis, wherever they are on the PATH', () => {
    const redis = folderWith('redis-server');
    const valkey = folderWith('valkey-server');
    const choice = chooseStore({ redisUrl: '', path: [redis, valkey].join(delimiter) });
    expect(choice).toMatchObject({ kind: 'server', binary: join(valkey, 'valkey-server') });
    expect(choice.why).toContain('valkey-server is on the PATH');
  });

  it('falls back to the embedded store', () => {
    const path = folderWith();
    mkdirSync(join(path, 'redis-server'));
    writeFileSync(join(path, 'valkey-server'), 'not executable', { mode: 0o644 });
    expect(chooseStore({ redisUrl: undefined, path })).toMatchObject({ kind: 'embedded' });
    expect(chooseStore({ redisUrl: undefined, path: undefined })).toMatchObject({ kind: 'embedded' });
  });
});
