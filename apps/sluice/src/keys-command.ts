import { createKey, hashKey } from '@sluice/config';
import { FatalError } from '@sluice/runtime';

export const keysUsage = `Usage: sluice keys

Makes an API key and the hash for the settings file. Nothing is stored.`;

/**
 * `sluice keys`: makes a key and prints it for the client, with its hash for the settings file. Stores nothing.
 */
export function runKeys(argv: readonly string[]): void {
  if (argv.length > 0) {
    throw new FatalError("'keys' takes no arguments; 'sluice keys --help' says what it does", {
      exitCode: 2,
    });
  }
  const key = createKey();
  console.log(`Key, for the client; it is not shown again:

  ${key}

Hash, for the settings file:

  keys:
    - name: a-tenant
      hash: sha256:${hashKey(key)}`);
}
