import { fork, spawn, type ChildProcess } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { eventually, temporaryFolder, within } from '@sluice/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

const PROGRAM = fileURLToPath(new URL('./processes/drain.ts', import.meta.url));

interface Run {
  child: ChildProcess;
  /** Lines the process wrote to tell where it is. */
  output: () => string[];
  /** Its log and other complaints. */
  errors: () => string;
  ended: Promise<number | null>;
}

function run(behaviour: string, { isSupervised = false, env = process.env } = {}): Run {
  const child = isSupervised
    ? fork(PROGRAM, [behaviour], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [], env })
    : spawn(process.execPath, [PROGRAM, behaviour], { stdio: ['ignore', 'pipe', 'pipe'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  let errors = '';
  child.stdout?.on('data', (data) => (output += String(data)));
  child.stderr?.on('data', (data) => (errors += String(data)));
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
  // Not the event `close`: it does not come when the IPC channel was closed first.
  const wroteAll = Promise.all([child.stdout, child.stderr].flatMap((stream) => stream ?? []).map(untilRead));
  const ended = wroteAll.then(() => exited);
  return {
    child,
    output: () => output.trim().split('\n'),
    errors: () => errors,
    ended: within(ended),
  };
}

function untilRead(stream: Readable): Promise<void> {
  return finished(stream);
}

function says({ output }: Run, line: string): Promise<boolean> {
  return eventually(() => output().includes(line));
}

/** Runs a process, and sends it a signal once it has said this. */
async function signalled(
  behaviour: string,
  signal: NodeJS.Signals = 'SIGTERM',
  line = 'started',
): Promise<Run> {
  const process = run(behaviour);
  await says(process, line);
  process.child.kill(signal);
  return process;
}

describe('a process', () => {
  it('drains on SIGTERM and exits with 0', async () => {
    const process = await signalled('plain');
    expect(await process.ended).toBe(0);
    expect(process.output()).toEqual(['started', 'stop terminated']);
  });

  it('takes a signal that npm repeats for one', async () => {
    const process = await signalled('plain', 'SIGINT');
    process.child.kill('SIGINT');
    expect(await process.ended).toBe(0);
  });

  it('leaves what it has compiled to the next start, also when it is killed', async () => {
    const folder = temporaryFolder();
    const { child, ended } = run('plain', { env: { ...process.env, NODE_COMPILE_CACHE: folder } });
    const written = () => readdir(folder, { recursive: true });
    await eventually(async () => expect((await written()).length).toBeGreaterThan(1));
    child.kill('SIGKILL');
    await ended;
  });

  it('reloads on SIGHUP, as often as it comes, and goes on', async () => {
    const process = await signalled('reload', 'SIGHUP');
    await says(process, 'reload');
    process.child.kill('SIGHUP');
    await eventually(() => process.output().filter((line) => line === 'reload').length === 2);
    process.child.kill('SIGTERM');
    expect(await process.ended).toBe(0);
    expect(process.output()).toEqual(['started', 'reload', 'reload', 'stop terminated']);
  });

  it('that has nothing to reload ends on SIGHUP', async () => {
    const process = await signalled('plain', 'SIGHUP');
    await process.ended;
    expect(process.child.signalCode).toBe('SIGHUP');
  });

  it('exits at once with 1 on a second signal', async () => {
    const process = await signalled('drain-until-second-signal');
    await says(process, 'stop terminated');
    // Signals count as one for half a second; only those after it are a second one.
    const again = setInterval(() => process.child.kill('SIGTERM'), 100);
    expect(await process.ended).toBe(1);
    clearInterval(again);
    expect(process.output()).toContain('forced');
  });

  it('leaves Ctrl-C to its supervisor and stops when that is gone', async () => {
    const process = run('plain', { isSupervised: true });
    await says(process, 'started');
    process.child.kill('SIGINT');
    process.child.disconnect();
    expect(await process.ended).toBe(0);
    expect(process.output()).toEqual(['started', 'stop parent_gone']);
  });

  it('ends a start that is under way', async () => {
    const process = await signalled('slow-start', 'SIGTERM', 'starting');
    expect(await process.ended).toBe(0);
    expect(process.output()).toEqual(['starting', 'stop terminated']);
  });

  it('says what to change in one line, without a stack, and exits with the code of the error', async () => {
    const process = run('bad-setting');
    expect(await process.ended).toBe(2);
    expect(process.errors()).toContain('sluice: PORT is "abc": set it to a number.\n');
    expect(process.errors()).not.toContain('    at ');
    expect(process.output()).toEqual(['stop start_failed']);
  });

  it('logs any other failed start without its secrets and exits with 1', async () => {
    const process = run('broken-start');
    expect(await process.ended).toBe(1);
    expect(process.errors()).toContain('start failed');
    expect(process.errors()).not.toContain('hunter2');
  });

  it.each(['throw', 'reject'])('logs an uncaught %s, drains and exits with 1', async (behaviour) => {
    const process = run(behaviour);
    expect(await process.ended).toBe(1);
    expect(process.output()).toEqual(['started', 'stop uncaught_error']);
    expect(process.errors()).toContain('"msg":"uncaught error"');
    expect(process.errors()).not.toContain('live0123456789');
  });

  it('stops with 0 when it asks for it, and with 1 when it gives an error', async () => {
    expect(await run('request').ended).toBe(0);
    expect(await run('request-after-error').ended).toBe(1);
  });

  it.each([
    ['at the deadline of a drain that hangs', 'hang', /drain deadline passed/],
    ['when its stop fails', 'broken-stop', /stop failed/],
    ['when something is still open after the stop', 'leak', /still open after the stop|TCPServerWrap/],
  ])('exits with 1 %s, and says so', async (_when, behaviour, said) => {
    const process = await signalled(behaviour);
    expect(await process.ended).toBe(1);
    expect(process.errors()).toMatch(said);
  });
});
