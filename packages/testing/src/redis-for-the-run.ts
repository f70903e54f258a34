import { existsSync } from 'node:fs';
import { request } from 'node:http';
import type { TestProject } from 'vitest/node';
import { startLocalRedis } from './local-redis.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The Redis of this run. A test uses only keys with its own prefix. */
    redisUrl: string;
  }
}

/**
 * Starts the one Redis that all tests of a project share, and resolves with the function that stops it.
 *
 * It is the first of these that exists: the Redis of `REDIS_URL`, a container if a Docker engine answers, a server from
 * the PATH, the embedded store. With `SLUICE_TEST_STORE=embedded` it is always the embedded store, as on a machine with
 * nothing but npm. Each project that names this file gets its own Redis, except that all share the one of `REDIS_URL`.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await findRedis();
  project.provide('redisUrl', redis.url);
  return redis.stop;
}

interface RedisForTheRun {
  url: string;
  stop: () => Promise<void>;
}

async function findRedis(): Promise<RedisForTheRun> {
  if (process.env['SLUICE_TEST_STORE'] === 'embedded') return startLocalRedis();
  const url = process.env['REDIS_URL'];
  if (url !== undefined && url !== '') return { url, stop: () => Promise.resolve() };
  return (await startContainer()) ?? startLocalRedis();
}

const IMAGE = 'valkey/valkey:8.1-alpine';
const PORT = 6379;
const STARTUP_TIMEOUT_MS = 60_000;

/** Returns undefined if there is no engine, or if it cannot get the image. Tests need a Redis, but not this one. */
async function startContainer(): Promise<RedisForTheRun | undefined> {
  if (!(await dockerAnswers(process.env['DOCKER_HOST']))) return undefined;
  try {
    // Loading it takes most of a second, which a run without Docker need not spend.
    const { GenericContainer } = await import('testcontainers');
    const container = await new GenericContainer(IMAGE)
      .withCommand(['valkey-server', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'])
      .withExposedPorts(PORT)
      .withStartupTimeout(STARTUP_TIMEOUT_MS)
      .start();
    return {
      url: `redis://${container.getHost()}:${container.getMappedPort(PORT)}`,
      stop: async () => {
        await container.stop();
      },
    };
  } catch (error) {
    console.warn('Docker answers, but the container did not start; a local Redis is used instead.', error);
    return undefined;
  }
}

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
