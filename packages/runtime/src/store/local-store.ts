/** A store that this process runs: what `embedded-store.ts` and `server-store.ts` have in common. */
export interface LocalStore {
  kind: 'server' | 'embedded';
  port: number;
  /** The server's own process, when it is not this one. */
  serverPid: number | undefined;
  /** Saves and ends the store; twice is fine. */
  stop(): Promise<void>;
  /** Resolves with the reason when the store ends without having been asked. */
  failed: Promise<Error>;
}

export interface LocalStoreOptions {
  /** Where the data lies; it exists and is locked for this process. */
  directory: string;
  /** The port on 127.0.0.1, or 0 for a free one. */
  port: number;
}
