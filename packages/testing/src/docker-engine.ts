import { existsSync } from 'node:fs';
import { request } from 'node:http';

const DOCKER_SOCKET = '/var/run/docker.sock';
const DOCKER_TIMEOUT_MS = 2000;

/** Whether a Docker engine answers a ping. Engines behind SSH are ignored. */
export async function dockerAnswers(dockerHost: string | undefined): Promise<boolean> {
  const engine = engineAddress(dockerHost);
  if (engine === undefined) return false;
  return new Promise((resolve) => {
    const ping = request(
      { ...engine, path: '/_ping', signal: AbortSignal.timeout(DOCKER_TIMEOUT_MS) },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    ping.once('error', () => resolve(false));
    ping.end();
  });
}

function engineAddress(
  dockerHost: string | undefined,
): { socketPath: string } | { host: string; port: number } | undefined {
  if (dockerHost === undefined || dockerHost === '') {
    return existsSync(DOCKER_SOCKET) ? { socketPath: DOCKER_SOCKET } : undefined;
  }
  if (!URL.canParse(dockerHost)) return undefined;
  const { protocol, hostname, port, pathname } = new URL(dockerHost);
  if (protocol === 'unix:') return { socketPath: pathname };
  if (protocol === 'tcp:' || protocol === 'http:') return { host: hostname, port: Number(port || 2375) };
  return undefined;
}
