import { Redis } from 'ioredis';

/** Asks a server of this machine by a connection of its own. Rejects when it does not answer. */
export async function askRedis(port: number, command: string, ...args: string[]): Promise<unknown> {
  const client = new Redis({ port, protocol: 2, maxRetriesPerRequest: 0, enableReadyCheck: false });
  client.on('error', () => undefined); // The command rejects.
  try {
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}
