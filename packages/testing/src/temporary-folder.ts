import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder for the test that runs, or that is about to, which is gone behind it. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
