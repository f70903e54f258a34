import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askRedis } from './ask-redis.ts';
import { freePort } from './free-ports.ts';
import { type LocalRedis, serverOnPath, startLocalRedis } from './local-redis.ts';
import { killServer } from './server-program.ts';
import { eventually } from './wait-until.ts';

/** A primary with a replica, and a Sentinel that knows them as `name`. */
export interface LocalSentinel {
  name: string;
  port: number;
  primary: LocalRedis;
  replica: LocalRedis;
  /** Has the Sentinel promote the replica, and resolves when it names the new primary. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

const name = 'store';

/** Starts them with the server on the PATH. Check `hasServer` first. */
export async function startLocalSentinel(): Promise<LocalSentinel> {
  const program = serverOnPath();
  if (program === undefined) throw new Error('there is no Redis or Valkey server on the PATH');
  const [primary, replica] = await Promise.all([
    startLocalRedis({ kind: 'server' }),
    startLocalRedis({ kind: 'server' }),
  ]);
  const directory = await mkdtemp(join(tmpdir(), 'sluice-sentinel-'));
  const port = await freePort();
  const file = join(directory, 'sentinel.conf');
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor ${name} 127.0.0.1 ${primary.port} 1`,
    `sentinel down-after-milliseconds ${name} 2000`,
  ];
  await writeFile(file, `${settings.join('\n')}\n`);
  await askRedis(replica.port, 'REPLICAOF', '127.0.0.1', String(primary.port));
  const server = spawn(program, [file, '--sentinel'], { stdio: 'ignore' });
  const stop = async () => {
    await killServer(server);
    await Promise.all([primary.stop(), replica.stop()]);
    await rm(directory, { recursive: true, force: true });
  };
  const named = async () => String(await askRedis(port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name));
  try {
    // It finds replicas by asking the primary, every ten seconds.
    await eventually(
      async () => ((await askRedis(port, 'SENTINEL', 'REPLICAS', name)) as unknown[]).length === 1,
    );
    return {
      name,
      port,
      primary,
      replica,
      async failOver() {
        await eventually(() => askRedis(port, 'SENTINEL', 'FAILOVER', name).then(() => true));
        await eventually(async () => (await named()).endsWith(`,${replica.port}`));
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
