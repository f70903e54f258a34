import { once } from 'node:events';
import { createServer } from 'node:net';

/** Temporal's schema for Postgres keeps a port as a number of 15 bits. */
const highest = 2 ** 15 - 1;

/** So many ports of 127.0.0.1 on which nothing listens, none above those that Temporal can keep. */
export async function lowPorts(count: number): Promise<number[]> {
  const free: number[] = [];
  for (let port = highest - Math.floor(Math.random() * 10_000); free.length < count; port -= 1)
    if (await isFree(port)) free.push(port);
  return free;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
