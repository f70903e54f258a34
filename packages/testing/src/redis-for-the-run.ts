import { readFileSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { dockerAnswers } from './docker-engine.ts';
import { startLocalCluster } from './local-cluster.ts';
import { serverOnPath, startLocalRedis } from './local-redis.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The Redis of this run. A test uses only keys with its own prefix. */
    redisUrl: string;
  }
}

/**
 * Starts the one Redis that all tests of a project share, and resolves with the function that stops it.
 *
 * It is the first of these that exists: the Redis of `REDIS_URL`, a server from the PATH, a container if a Docker engine answers,
 * the embedded store. `SLUICE_TEST_STORE` asks for one: `embedded`, as on a machine with nothing but npm, `container`,
 * which is the store of docker-compose.yml and rejects where no engine can start it, or `cluster`, three primaries with a cell each for tests that
 * start the service as processes. Each project that names this file gets
 * its own Redis, except that all share the one of `REDIS_URL`.
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
  const asked = process.env['SLUICE_TEST_STORE'];
  if (asked === 'embedded') return startLocalRedis();
  if (asked === 'container') return startContainer();
  if (asked === 'cluster') return startCluster();
  const url = process.env['REDIS_URL'];
  if (url !== undefined && url !== '') return { url, stop: () => Promise.resolve() };
  if (serverOnPath() === undefined && (await dockerAnswers(process.env['DOCKER_HOST']))) {
    try {
      return await startContainer();
    } catch (error) {
      console.warn(
        'Docker answers, but the container did not start: the embedded store is used instead.',
        error,
      );
    }
  }
  return startLocalRedis();
}

async function startCluster(): Promise<RedisForTheRun> {
  const cluster = await startLocalCluster();
  return { url: `redis://127.0.0.1:${cluster.nodes[0]?.port}`, stop: () => cluster.stop() };
}

const port = 6379;
const startupTimeoutMs = 60_000;

async function startContainer(): Promise<RedisForTheRun> {
  // Loading it takes most of a second, which a run without Docker need not spend.
  const { GenericContainer } = await import('testcontainers');
  const container = await new GenericContainer(storeImage())
    .withCommand(['valkey-server', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts(port)
    .withStartupTimeout(startupTimeoutMs)
    .start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(port)}`,
    stop: async () => {
      await container.stop();
    },
  };
}

/** The image of the store in docker-compose.yml, which alone says the version. */
export function storeImage(): string {
  const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
  const image = /^ *image: *(valkey\/\S+)$/m.exec(compose)?.[1];
  if (image === undefined) throw new Error('docker-compose.yml names no image of Valkey');
  return image;
}
