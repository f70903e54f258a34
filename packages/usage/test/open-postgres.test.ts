import { expect, it, vi } from 'vitest';
import { openPostgres } from '../src/postgres/open-postgres.ts';

const opened = vi.hoisted(() => ({ times: 0 }));
vi.mock('pg', () => ({
  default: {
    Pool: function Pool() {
      opened.times += 1;
      throw new Error(`failure ${opened.times}`);
    },
  },
}));

it('is opened again after it could not be opened, and can be closed then', async () => {
  const database = openPostgres({ url: 'postgres://none', onError: () => undefined });
  await expect(database.id()).rejects.toThrow('failure 1');
  await expect(database.id()).rejects.toThrow('failure 2');
  await database.close();
});
