import { readFileSync } from 'node:fs';

/** The version of this service, which all of its packages share. */
export const serviceVersion: string = versionOf(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

function versionOf(manifest: string): string {
  const { version }: { version?: unknown } = JSON.parse(manifest);
  return typeof version === 'string' ? version : 'unknown';
}
