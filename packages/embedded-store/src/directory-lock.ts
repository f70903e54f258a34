import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bornAt,
  closeRedis,
  errorCode,
  FatalError,
  isAlive,
  isRunning,
  type ProcessIdentity,
} from '@sluice/runtime';
import { Redis } from 'ioredis';

/** A lock on a directory, held until `release` or the end of this process. */
export interface DirectoryLock {
  /** Records a server that uses the directory and may outlive this process. */
  noteServer(pid: number, port: number): void;
  /** Releases the directory; twice is fine. */
  release(): void;
}

/**
 * Locks a directory for this process, and creates it if needed. Rejects with a `FatalError` when another live process
 * of this machine holds the lock: two stores in one directory would destroy each other's data.
 *
 * The lock of a process that was killed is taken over. If its server still runs, it is shut down first, with its data
 * saved. Processes of other containers or machines that share the directory are not detected.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, LOCK_FILE);
  const claim: Claim = { pid: process.pid, bornAt: bornAt(process.pid) };
  for (let attempt = 0; !tryToWrite(file, claim); attempt += 1) {
    const text = readIfThere(file);
    const holder = parseClaim(text);
    if (holder !== undefined && isHeld(holder)) throw inUse(directory, holder);
    if (attempt === ATTEMPTS)
      throw new FatalError(`${file} could not be replaced: remove it if no Sluice runs.`);
    if (holder !== undefined) await shutDownOrphan(directory, holder);
    if (text !== undefined) removeIfUnchanged(file, text);
  }
  return {
    noteServer(pid, port) {
      claim.server = { pid, bornAt: bornAt(pid), port };
      // Renamed into place, so that no reader sees half a claim.
      const next = `${file}.${process.pid}`;
      writeFileSync(next, JSON.stringify(claim));
      renameSync(next, file);
    },
    release() {
      if (parseClaim(readIfThere(file))?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

const LOCK_FILE = 'sluice.lock';
const ATTEMPTS = 5;

interface Claim extends ProcessIdentity {
  server?: ProcessIdentity & { port: number };
}

/** Returns false if there is a claim already. Links a draft into place, because a new file is empty at first. */
function tryToWrite(file: string, claim: Claim): boolean {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(claim));
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes a dead claim. If another process has replaced it since it was read, the new claim is put back. */
function removeIfUnchanged(file: string, text: string): void {
  const aside = `${file}.${process.pid}.aside`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  if (readIfThere(aside) === text) rmSync(aside, { force: true });
  else renameSync(aside, file);
}

function isHeld(claim: Claim): boolean {
  return claim.pid !== process.pid && isRunning(claim);
}

function inUse(directory: string, holder: Claim): FatalError {
  return new FatalError(
    `${directory} is in use by another Sluice (process ${holder.pid}): stop it, or set DATA_DIR to another directory.`,
  );
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function parseClaim(text: string | undefined): Claim | undefined {
  try {
    const claim: unknown = JSON.parse(text ?? '');
    // This file writes nothing but claims, so the cast holds; other content counts as no claim.
    return typeof claim === 'object' && claim !== null && 'pid' in claim ? (claim as Claim) : undefined;
  } catch {
    return undefined;
  }
}

const SHUTDOWN_WITHIN_MS = 10_000;
const POLL_MS = 50;

/**
 * Shuts down the server that a killed store process left behind. Another process may have its id or its port by now, so
 * the server is asked for its id first. One that loads its data, or does not listen yet, answers nothing, and would go on to write
 * beside the next one: it is told from another process by when it began.
 */
async function shutDownOrphan(directory: string, { server }: Claim): Promise<void> {
  if (server === undefined || !isRunning(server)) return;
  const isOurs = server.bornAt !== undefined && server.bornAt === bornAt(server.pid);
  const answer = await askToShutDown(server);
  if (answer === 'other' || (answer === 'nobody' && !isOurs)) return;
  if (answer !== 'ours' && isOurs) process.kill(server.pid, 'SIGTERM');
  const deadline = performance.now() + SHUTDOWN_WITHIN_MS;
  while (isAlive(server.pid)) {
    if (performance.now() > deadline) {
      throw new FatalError(
        `A server of an earlier run still uses ${directory} (process ${server.pid}): end it and start again.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Who answers at the port of a server. It ends if it is that server. */
async function askToShutDown(server: {
  pid: number;
  port: number;
}): Promise<'ours' | 'other' | 'silent' | 'nobody'> {
  const client = new Redis({
    host: '127.0.0.1',
    port: server.port,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: 2000,
    commandTimeout: 2000,
    enableReadyCheck: false, // It would wait for a server that loads its data, and both commands are answered meanwhile.
    protocol: 2,
  });
  client.on('error', () => undefined); // The commands below report the error.
  try {
    const info = await client.info('server');
    if (!info.includes(`process_id:${server.pid}\r\n`)) return 'other';
    await client.shutdown().catch(() => undefined); // The server answers by closing the connection.
    return 'ours';
  } catch (error) {
    return error instanceof Error && error.message === 'Command timed out' ? 'silent' : 'nobody';
  } finally {
    await closeRedis(client);
  }
}
