import { createKey, hashKey } from '@sluice/config';
import { FatalError } from '@sluice/runtime';

export const keysUsage = `Usage: sluice keys

Makes an API key and the hash for the settings file. Nothing is stored.

A running service takes changes of \`keys\` in its file within seconds:

  add      put the hash under \`keys\`
  rotate   add a second key under the same \`name\`; remove the first one when its last client has changed over
  revoke   remove the key, or give it \`disabled: true\``;

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
      hash: sha256:${hashKey(key)}

A running service takes it within seconds after it is in the file. 'sluice keys --help' says how to rotate
and revoke keys.`);
}
