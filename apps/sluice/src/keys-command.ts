import { parseArgs } from 'node:util';
import { createKey, hashKey } from '@sluice/config';
import { FatalError } from '@sluice/runtime';

const usage = `Usage: sluice keys

Makes an API key and the hash for the settings file. Nothing is stored.`;

/**
 * `sluice keys`: makes a key and shows what goes where. Nothing is stored: the key is for the client, its hash for
 * the settings file.
 */
export function runKeys(argv: readonly string[]): void {
  if (wantsHelp(argv)) {
    console.log(usage);
    return;
  }
  const key = createKey();
  console.log(`Key, for the client; it is not shown again:

  ${key}

Hash, for the settings file:

  keys:
    - name: a-tenant
      hash: sha256:${hashKey(key)}`);
}

function wantsHelp(argv: readonly string[]): boolean {
  try {
    return (
      parseArgs({ args: [...argv], options: { help: { type: 'boolean', short: 'h' } } }).values.help ?? false
    );
  } catch {
    throw new FatalError("'keys' takes no arguments; 'sluice keys --help' says what it does", {
      exitCode: 2,
    });
  }
}
