import type { ChildProcess } from 'node:child_process';

/**
 * Reads all that a process writes, so that it never waits for a full pipe, and keeps the end of it for an error
 * message: call the function that comes back for the last lines as one.
 */
export function lastWordsOf({ stdout, stderr }: ChildProcess): () => string {
  let tail = '';
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => {
      tail = (tail + text).slice(-KEPT_CHARACTERS);
    });
  }
  return () => tail.trim().split(/\r?\n/).slice(-KEPT_LINES).join(' ').trim() || '(none)';
}

const KEPT_CHARACTERS = 2000;
const KEPT_LINES = 2;
