import { hashKey } from '@sluice/config';
import { createKey } from '@sluice/tenants';

/** `sluice keys make`: prints a key for the client, with its hash for the settings file. Stores nothing. */
export function makeKey(isJson: boolean): void {
  const key = createKey();
  if (isJson) {
    console.log(JSON.stringify({ key, hash: `sha256:${hashKey(key)}` }));
    return;
  }
  console.log(`Key, for the client; it is not shown again:

  ${key}

Hash, for the settings file:

  keys:
    - name: a-tenant
      hash: sha256:${hashKey(key)}

A running service takes it within seconds after it is in the file. 'sluice keys create' makes one that needs no file.`);
}
