import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { nodeVersionComplaint } from './node-version.ts';

const PRELOAD = fileURLToPath(new URL('../require-node.mjs', import.meta.url));

/** Runs a program after the preload, which is told that Node has this version. */
function preloadedOn(version: string): Promise<{ exitCode: unknown; output: string; complaint: string }> {
  const pretend = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const args = ['--import', pretend, '--import', PRELOAD, '--eval', 'console.log("ran")'];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, output, complaint) => {
      resolve({ exitCode: error?.code ?? 0, output: output.trim(), complaint: complaint.trim() });
    });
  });
}

describe('node version', () => {
  it('accepts the minimum and what is newer', () => {
    expect(nodeVersionComplaint(24, '24.0.0')).toBeUndefined();
    expect(nodeVersionComplaint(24, '25.1.0')).toBeUndefined();
  });

  it('refuses what is older in one line that says what to do', () => {
    const complaint = nodeVersionComplaint(24, '20.20.2');
    expect(complaint).toContain('needs Node.js 24 or newer and this is 20.20.2');
    expect(complaint).not.toContain('\n');
  });

  it('is checked by the preload with the same words and exit code 2', async () => {
    const { exitCode, output, complaint } = await preloadedOn('18.20.0');
    expect(exitCode).toBe(2);
    expect(output).toBe('');
    expect(complaint).toBe(nodeVersionComplaint(24, '18.20.0'));
  });

  it('lets a new Node through the preload', async () => {
    expect(await preloadedOn('24.1.0')).toEqual({ exitCode: 0, output: 'ran', complaint: '' });
  });
});
