import type { Settings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import { defaultStalledMs } from '../reader-pace.ts';
import { LocalContexts } from './local-contexts.ts';
import {
  type ConnectionDependencies,
  type OpenedSocket,
  SocketConnection,
  type SocketTimes,
} from './socket-connection.ts';

const defaultTimes: SocketTimes = {
  pingMs: 30_000,
  idleMs: 600_000,
  lifetimeMs: 3_600_000,
  stalledMs: defaultStalledMs,
};

/** Connections are asked for a sign of life in so many parts: all at once would hold up everything else. */
const partsOfTick = 30;

/** Every connection is asked for its key once in so many ticks, so that a revoked one has none within seconds. */
const ticksForKeys = 3;

export interface SocketConnectionsOptions extends Omit<ConnectionDependencies, 'times'> {
  /** Whether there are connections at all. */
  isEnabled: boolean;
  limits: Pick<Settings['limits'], 'webSocketsPerTenant' | 'webSocketContextBytes'>;
  times?: Partial<SocketTimes>;
}

/** The WebSockets of a process. */
export class SocketConnections {
  readonly #options: SocketConnectionsOptions;
  readonly #times: SocketTimes;
  readonly #contexts: LocalContexts;
  readonly #open = new Set<SocketConnection>();
  /** The same, in parts that are looked at one after the other. */
  readonly #parts = Array.from({ length: partsOfTick }, () => new Set<SocketConnection>());
  #part = 0;
  readonly #ofTenants = new Map<string, number>();
  #ticking: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(options: SocketConnectionsOptions) {
    this.#options = options;
    this.#times = { ...defaultTimes, ...options.times };
    this.#contexts = new LocalContexts({ mostBytes: options.limits.webSocketContextBytes });
  }

  get isEnabled(): boolean {
    return this.#options.isEnabled;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Bytes kept to continue from what is not stored. */
  get contextBytes(): number {
    return this.#contexts.bytes;
  }

  /** @throws {ServiceError} when a tenant may not open another connection now. */
  check(tenant: string): void {
    if (this.#isDraining) throw new ServiceError('server_is_overloaded', 'The server is restarting.');
    const mostOfTenant = this.#options.limits.webSocketsPerTenant;
    if ((this.#ofTenants.get(tenant) ?? 0) < mostOfTenant) return;
    throw new ServiceError(
      'rate_limit_exceeded',
      `You have ${mostOfTenant} WebSockets open, which is as many as you may have.`,
    );
  }

  /** Serves a connection until it is closed. */
  add(opened: Omit<OpenedSocket, 'contexts'>): void {
    const { tenant, socket } = opened;
    this.#ofTenants.set(tenant, (this.#ofTenants.get(tenant) ?? 0) + 1);
    this.#ticking ??= setInterval(() => this.#tick(), this.#times.pingMs / partsOfTick);
    const connection = new SocketConnection(
      { ...this.#options, times: this.#times },
      { ...opened, contexts: this.#contexts.ofConnection(tenant) },
    );
    const part = this.#parts[this.#open.size % partsOfTick];
    this.#open.add(connection);
    part?.add(connection);
    socket.once('close', () => {
      this.#open.delete(connection);
      part?.delete(connection);
      const left = (this.#ofTenants.get(tenant) ?? 1) - 1;
      if (left > 0) this.#ofTenants.set(tenant, left);
      else this.#ofTenants.delete(tenant);
      if (this.#open.size === 0) this.#stopTicking();
    });
    if (this.#isDraining) connection.drain();
  }

  /** Takes no more turns, and closes each connection once those that run are over. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#open) connection.drain();
  }

  /** Cuts every connection. */
  terminate(): void {
    for (const connection of this.#open) connection.terminate();
  }

  #tick(): void {
    this.#part = (this.#part + 1) % partsOfTick;
    for (const connection of this.#parts[this.#part] ?? []) connection.tick();
    const parts = partsOfTick / ticksForKeys;
    const first = (this.#part % ticksForKeys) * parts;
    for (const part of this.#parts.slice(first, first + parts)) {
      for (const connection of part) connection.checkKey();
    }
  }

  #stopTicking(): void {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }
}
