import { listenFailure } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';

/**
 * Most connections that the system keeps until this process takes them. With the default of Node.js, 511, a process that was busy
 * for a moment while thousands of streams began had most of them reset. The system may have a lower limit.
 */
const waitingConnections = 4_096;

/** Starts to listen, and returns the URL. A failure names the settings that would change it. */
export async function listen(
  app: FastifyInstance,
  host: string,
  port: number,
  hostSetting: string,
  portSetting: string,
): Promise<string> {
  try {
    return await app.listen({ host, port, backlog: waitingConnections });
  } catch (error) {
    throw listenFailure(error, { host, port, hostSetting, portSetting });
  }
}
