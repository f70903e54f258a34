import type { Redis } from 'ioredis';

/**
 * Reads the fields of a Redis hash with their values, about `pageSize` at a time, so that no command holds up Redis or its connection for long.
 *
 * A field may come twice, and one that comes or goes meanwhile may be there or not. Rejects with the error of Redis.
 */
export async function* scanHash(
  connection: Pick<Redis, 'hscan'>,
  key: string,
  pageSize: number,
): AsyncGenerator<[field: string, value: string][]> {
  let cursor = '0';
  do {
    const [next, flat] = await connection.hscan(key, cursor, 'COUNT', pageSize);
    yield Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at] ?? '', flat[2 * at + 1] ?? '']);
    cursor = next;
  } while (cursor !== '0');
}
