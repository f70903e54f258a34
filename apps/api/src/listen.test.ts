import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { listen } from './listen.ts';

it('lets thousands of connections wait for a busy process', async () => {
  const asked: unknown[] = [];
  const listened = async (options: unknown) => {
    asked.push(options);
    return 'http://127.0.0.1:8080';
  };
  const app = { listen: listened } as unknown as FastifyInstance; // all that is called
  expect(await listen(app, '127.0.0.1', 8080, 'HOST', 'PORT')).toBe('http://127.0.0.1:8080');
  expect(asked).toEqual([{ host: '127.0.0.1', port: 8080, backlog: 4_096 }]);
});
