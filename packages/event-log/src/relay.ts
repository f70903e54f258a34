import type { ResponseEnd } from '@sluice/contract';
import type { Redis } from 'ioredis';
import { derivedEvents } from './derived-events.ts';
import { parseMessage, type RelayMessage } from './message.ts';
import { readDerivedEvents, readEvents } from './read.ts';
import { PendingEnd } from './pending-end.ts';
import type { RedisKeys } from './redis-keys.ts';
import { parseEnd } from './record.ts';
import { type LogReader, Subscription } from './subscription.ts';

/** How long an api process counts as alive after its last sign of life, and how often it gives one. */
const lease = { ttlMs: 5_000, renewMs: 1_000 };

export interface RelayOptions {
  /** Subscribed to this process's channel and used for nothing else. */
  subscriber: Redis;
  /** For the lease and for reading what pub/sub did not bring. */
  commands: Redis;
  keys: RedisKeys;
  /** This process's lease and channel, `keys.apiProcess(id)`. */
  apiProcess: string;
  onError: (error: unknown) => void;
}

interface Listener {
  offer(message: RelayMessage): void;
  resync(): void;
}

/**
 * Live delivery of an api process: one connection, one channel, any number of readers.
 *
 * Also keeps the process's lease. While it is renewed, responses whose callers wait here count as wanted; when
 * the process dies it lapses, and workers stop what nobody waits for.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  #renewal: NodeJS.Timeout | undefined;
  readonly #onMessage = (_channel: string, message: string) => this.#dispatch(message);
  readonly #onReady = () => this.#resyncAll();
  readonly #onCommandsReady = () => void this.#renew();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Subscribes and takes the lease. Resolves when both hold; a lost connection is restored by itself. */
  async start(): Promise<void> {
    const { subscriber, commands, apiProcess } = this.#options;
    subscriber.on('message', this.#onMessage);
    // The lease may have lapsed while the store was away: workers give its owner a moment to take it again.
    commands.on('ready', this.#onCommandsReady);
    // After a reconnect messages are missing: every reader looks into the log once.
    subscriber.on('ready', this.#onReady);
    this.#renewal = setInterval(() => void this.#renew(), lease.renewMs);
    await subscriber.subscribe(apiProcess);
    await this.#renew();
  }

  async stop(): Promise<void> {
    const { subscriber, commands, apiProcess } = this.#options;
    clearInterval(this.#renewal);
    subscriber.off('message', this.#onMessage);
    subscriber.off('ready', this.#onReady);
    commands.off('ready', this.#onCommandsReady);
    try {
      await commands.del(apiProcess);
    } catch {
      // It lapses by itself.
    }
  }

  /** Readers attached at the moment. */
  get size(): number {
    let size = 0;
    for (const listeners of this.#listeners.values()) size += listeners.size;
    return size;
  }

  /**
   * Follows a response from a cursor on. Attach before the accept that names this process as a watcher, or
   * pass `readFirst`, and nothing is missed in between.
   *
   * A response that was not created as a stream has no log: its events are `derived` from its record, and a
   * message only says that there is something new.
   */
  follow(
    responseId: string,
    { cursor, readFirst, derived }: { cursor: number; readFirst: boolean; derived: boolean },
  ): Subscription {
    const { commands, keys, onError } = this.#options;
    // What the end brought: a response that is deleted right after it still ends for those who follow it.
    let last: DerivedEnd | undefined;
    const reader: LogReader = derived
      ? {
          events: async (after) =>
            last
              ? derivedEvents(last).slice(after + 1)
              : readDerivedEvents(commands, keys, responseId, after),
          end: async () => last?.result ?? this.#readEnd(responseId),
        }
      : {
          events: (after, count) => readEvents(commands, keys, responseId, after, count),
          end: () => this.#readEnd(responseId),
        };
    const onClose = () => this.#remove(responseId, listener);
    const subscription = new Subscription({ cursor, readFirst, reader, onClose, onError });
    const listener: Listener = derived
      ? {
          offer: (message) => {
            last ??= derivedEnd(message);
            subscription.resync();
          },
          resync: () => subscription.resync(),
        }
      : subscription;
    this.#add(responseId, listener);
    return subscription;
  }

  /** Whether anybody of this process follows or awaits a response. */
  hasListener(responseId: string): boolean {
    return this.#listeners.has(responseId);
  }

  /** Listens for the end of a response and for nothing else. Call it before the accept. */
  awaitEnd(responseId: string): PendingEnd {
    const pending = new PendingEnd({
      readEnd: () => this.#readEnd(responseId),
      onError: this.#options.onError,
      onClose: () => this.#remove(responseId, pending),
    });
    this.#add(responseId, pending);
    return pending;
  }

  #dispatch(text: string): void {
    const message = parseMessage(text);
    if (!message) return;
    for (const listener of this.#listeners.get(message.responseId) ?? []) listener.offer(message);
  }

  #resyncAll(): void {
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) listener.resync();
    }
  }

  async #renew(): Promise<void> {
    const { commands, apiProcess, onError } = this.#options;
    try {
      await commands.set(apiProcess, '1', 'PX', lease.ttlMs);
    } catch (error) {
      onError(error);
    }
  }

  /** Null: the response is gone. Undefined: it has no end yet. */
  async #readEnd(responseId: string): Promise<string | undefined | null> {
    const { commands, keys } = this.#options;
    const [status, result] = await commands.hmget(keys.record(responseId), 'status', 'result');
    if (status == null) return null;
    return result ?? undefined;
  }

  #add(responseId: string, listener: Listener): void {
    const listeners = this.#listeners.get(responseId);
    if (listeners) listeners.add(listener);
    else this.#listeners.set(responseId, new Set([listener]));
  }

  #remove(responseId: string, listener: Listener): void {
    const listeners = this.#listeners.get(responseId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(responseId);
  }
}

/** The end of a response without a log, and what is needed to derive its events. */
interface DerivedEnd {
  startedAt: number | undefined;
  end: ResponseEnd;
  result: string;
}

function derivedEnd({ events, end }: RelayMessage): DerivedEnd | undefined {
  if (!end) return undefined;
  // An end right behind `response.queued` had no attempt before it.
  const hasStarted = (events[0]?.sequenceNumber ?? 0) > 2;
  return { startedAt: hasStarted ? 1 : undefined, end: parseEnd(end.result), result: end.result };
}
