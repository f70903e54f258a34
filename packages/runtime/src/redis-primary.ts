import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { pause } from './pause.ts';
import type { RedisNode } from './redis-address.ts';

type Locate = (options: RedisOptions) => Promise<RedisNode>;

/** Exponential backoff, capped at a second, with jitter: a service recovers within three seconds of Redis. */
export function retryDelayMs(attempt: number, random: () => number = Math.random): number {
  return Math.min(50 * 2 ** attempt, 1000) + Math.floor(random() * 200);
}

/**
 * How ioredis reaches a server, with one rule of ours: only a primary will do. Each attempt to connect ends with an
 * INFO (ioredis sends it to learn whether the server still loads), and a server that says there that it is a replica is
 * left again, as one that does not answer, until the address leads to a primary.
 *
 * Without this rule a connection that sees no write fail, such as a subscription, would stay on a replica for ever.
 *
 * `locate` finds the primary before each attempt; without it, it is at the address of the client.
 */
export function primaryConnector({
  onReplica,
  locate,
}: {
  onReplica: () => void;
  locate: Locate | undefined;
}): NonNullable<RedisOptions['Connector']> {
  return class PrimaryConnector extends AbstractConnector {
    readonly #options: RedisOptions;
    /** The connection that was told to end last. */
    #left: unknown;
    /** Aborted when the primary is not looked for any more. */
    #leaving: AbortController | undefined;

    constructor(options: unknown) {
      super(DISCONNECT_TIMEOUT_MS);
      this.#options = options as RedisOptions; // those of the client that makes the connector
    }

    override async connect(tell: (event: string, error: Error) => void): Promise<Socket> {
      this.connecting = true;
      const server = locate ? await this.#find(locate, tell) : undefined;
      return new Promise((resolve, reject) => {
        // The client must be able to end an attempt in the turn in which it began.
        process.nextTick(() => {
          if (!this.connecting) return reject(new Error('Connection is closed.'));
          const socket = openSocket({ ...this.#options, ...server });
          this.stream = socket;
          socket.once('error', (error) => {
            this.firstError = error;
          });
          resolve(socket);
        });
      });
    }

    /** Looks for the primary until somebody names one: a client whose connector rejects has ended for good. */
    async #find(ask: Locate, tell: (event: string, error: Error) => void): Promise<RedisNode> {
      this.#leaving = new AbortController();
      const { signal } = this.#leaving;
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await ask(this.#options);
        } catch (error) {
          if (!signal.aborted) tell('error', error instanceof Error ? error : new Error(String(error)));
        }
        await pause(retryDelayMs(attempt), signal);
        if (signal.aborted) throw new Error('Connection is closed.');
      }
    }

    /**
     * Leaves the server, once for each connection. The client asks for this at every error after which it is to connect
     * again, and all commands in flight may fail with one at once.
     */
    override disconnect(): void {
      this.connecting = false;
      this.#leaving?.abort();
      if (this.stream === this.#left) return;
      this.#left = this.stream;
      super.disconnect();
    }

    /** An access list may hide the role, so only a known replica is left. */
    override check(info: { role?: string }): boolean {
      const isPrimary = info.role === undefined || info.role === 'master';
      if (!isPrimary) onReplica();
      return isPrimary;
    }
  };
}

/** How long a connection may take to close before it is cut, in milliseconds: the default of ioredis. */
const DISCONNECT_TIMEOUT_MS = 2000;

function openSocket({ host, port, family, tls }: RedisOptions): Socket {
  const target = { host: host ?? 'localhost', port: port ?? 6379, family: family ?? 0 };
  if (tls === undefined) return connectTcp(target);
  // For `rediss://` it is `true`, whatever its type says, which adds nothing to the defaults of Node.
  return connectTls({ ...target, ...tls });
}
