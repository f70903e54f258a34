import { createKey, hashKey } from '@sluice/config';

/**
 * `sluice keys`: makes a key and shows what goes where. Nothing is stored: the key is for the client, its hash for
 * the settings file.
 */
export function runKeys(): void {
  const key = createKey();
  console.log(`Key, for the client; it is not shown again:

  ${key}

Hash, for the settings file:

  keys:
    - name: a-tenant
      hash: sha256:${hashKey(key)}`);
}
