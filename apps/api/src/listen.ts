import { listenFailure } from '@sluice/runtime';
import type { FastifyInstance } from 'fastify';

/** Starts to listen, and returns the URL. A failure names the settings that would change it. */
export async function listen(
  app: FastifyInstance,
  host: string,
  port: number,
  hostSetting: string,
  portSetting: string,
): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    throw listenFailure(error, { host, port, hostSetting, portSetting });
  }
}
