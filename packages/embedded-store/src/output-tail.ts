import type { ChildProcess } from 'node:child_process';

/**
 * Reads everything a child writes, so that it never blocks on a full pipe, and keeps the end for an error message.
 * Returns a function that gives the last lines, joined into one.
 */
export function outputTail({ stdout, stderr }: ChildProcess): () => string {
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
