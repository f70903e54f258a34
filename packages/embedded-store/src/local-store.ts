/** A store that this process runs. `embedded-valkey.ts` and `server-on-path.ts` implement it. */
export interface LocalStore {
  kind: 'server' | 'embedded';
  port: number;
  /** The id of the server's process, if it has one of its own. */
  serverPid: number | undefined;
  /** Saves and ends the store; twice is fine. */
  stop(): Promise<void>;
  /** Resolves with the reason when the store ends by itself. */
  failed: Promise<Error>;
}

export interface LocalStoreOptions {
  /** The folder of the data. It exists and is locked for this process. */
  directory: string;
  /** The port on 127.0.0.1, or 0 for a free one. */
  port: number;
}
