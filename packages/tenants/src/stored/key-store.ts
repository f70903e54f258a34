import { type EntriesConnection, StoredEntries } from '@sluice/runtime';

/** The stored API keys of a service, by their ids. */
export class KeyStore extends StoredEntries {
  /** `keyPrefix` starts every key of the cell. */
  constructor({ connection, keyPrefix }: { connection: EntriesConnection; keyPrefix: string }) {
    super({ connection, key: `${keyPrefix}api-keys` });
  }
}
