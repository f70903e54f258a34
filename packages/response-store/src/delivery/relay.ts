import type { RedisSubscriber } from '../record/connection.ts';
import type { StoreAccess } from '../record/store-access.ts';
import type { HoldMemory, OpenEnds } from '../reading/open-ends.ts';
import { readEnd } from '../reading/read-record.ts';
import { subscribeOnceTaken } from '../record/subscribe.ts';
import { BoundedReads } from './bounded-reads.ts';
import { EndWait } from './end-wait.ts';
import { Listeners } from './listeners.ts';
import { DerivedEvents, LoggedEvents } from './log-readers.ts';
import { idToLookUp, parseMessages } from './message.ts';
import { type PollTimes, Subscription } from './subscription.ts';

/** How often waits are looked at, in milliseconds; a time-out is late by this much at the most. */
const tickMs = 250;

export interface RelayOptions extends StoreAccess {
  /** Subscribed to the channels of this process and used for nothing else. */
  subscriber: RedisSubscriber;
  /** One in each cell. */
  channels: readonly string[];
  /** Long ends that are read. */
  ends: OpenEnds;
  onError: (error: unknown) => void;
}

export interface FollowOptions {
  /** The last sequence number the reader has; -1 for none. */
  cursor: number;
  /** Whether the log is read before anything is awaited. */
  readFirst: boolean;
  /** Whether the response has no log, so that its events are derived from its record. */
  derived: boolean;
  /** Makes room for what is large before it is read. It may wait for as long as the reader does. */
  hold: HoldMemory;
  /** See `EndReading`. */
  holdBeside?: HoldMemory | undefined;
  /** Whether the log is asked now and then, in case a message was lost; true unless the wait is a short one. */
  looksAgain?: boolean;
  /** How often it is asked, of a response that this process does not watch: nobody sends it messages then. */
  pollMs?: PollTimes;
}

/**
 * Live delivery of an api process: one connection, one channel, any number of readers.
 *
 * Pub/sub makes it fast and nothing more: a listener finds in the store what a message did not bring. What is found
 * there can be large, so it has a connection of its own and comes in a bounded number of reads at a time.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #listeners = new Listeners();
  readonly #waits = new Set<EndWait>();
  readonly #subscriptions = new Set<Subscription>();
  readonly #reads = new BoundedReads();
  #timer: NodeJS.Timeout | undefined;
  readonly #onMessage = (_channel: string, message: string) => this.#dispatch(message);
  readonly #onReady = () => void this.#subscribe().then(() => this.#resyncAll(), this.#options.onError);

  readonly #onReadable = () => this.#resyncAll();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Resolves when the subscription stands; a lost connection is restored by itself. */
  async start(): Promise<void> {
    const { subscriber, redis } = this.#options;
    subscriber.on('message', this.#onMessage);
    // After a reconnect messages are missing: every listener looks into the store once, when messages arrive again.
    subscriber.on('ready', this.#onReady);
    // The first look fails when the connection for reads comes back later than the other one.
    redis.on('ready', this.#onReadable);
    this.#timer = setInterval(() => this.#tick(), tickMs);
    await subscribeOnceTaken(subscriber, this.#options.channels);
  }

  /** Nobody hears of anything from then on: who still waits is told that the response is gone, and who still reads has no further event. */
  stop(): void {
    const { subscriber, redis } = this.#options;
    clearInterval(this.#timer);
    subscriber.off('message', this.#onMessage);
    subscriber.off('ready', this.#onReady);
    redis.off('ready', this.#onReadable);
    for (const waiting of [...this.#waits, ...this.#subscriptions]) waiting.cut();
  }

  /**
   * Follows a response from a cursor on. Follow it before the accept that names this process as a watcher, or pass
   * `readFirst`, and nothing is missed in between.
   */
  follow(
    responseId: string,
    { cursor, readFirst, derived, hold, holdBeside, looksAgain, pollMs }: FollowOptions,
  ): Subscription {
    const { onError } = this.#options;
    const { ends } = this.#options;
    const reading = { access: this.#options, responseId, reads: this.#reads, ends, hold, holdBeside };
    const derivedReader = derived ? new DerivedEvents(reading) : undefined;
    const subscription: Subscription = new Subscription({
      cursor,
      readFirst,
      looksAgain,
      pollMs,
      reader: derivedReader ?? new LoggedEvents(reading),
      onClose: () => {
        this.#listeners.remove(responseId, listener);
        this.#subscriptions.delete(subscription);
      },
      onError,
    });
    // A message about a response without a log only says that there is something new.
    const listener = derivedReader?.listener(() => subscription.resync()) ?? subscription;
    this.#listeners.add(responseId, listener);
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Listens for the end of a response and for nothing else. Call it before the accept. */
  awaitEnd(responseId: string): EndWait {
    const wait = new EndWait({
      readEnd: () => this.#reads.run(() => readEnd(this.#options, responseId)),
      onError: this.#options.onError,
      onClose: () => {
        this.#listeners.remove(responseId, wait);
        this.#waits.delete(wait);
      },
      now: () => performance.now(),
    });
    this.#listeners.add(responseId, wait);
    this.#waits.add(wait);
    return wait;
  }

  /** Resolves when messages arrive. Starting it again does nothing. */
  async #subscribe(): Promise<void> {
    const { subscriber, channels } = this.#options;
    await subscriber.subscribe(...channels);
  }

  #dispatch(text: string): void {
    const responseId = idToLookUp(text);
    if (responseId !== undefined) {
      for (const listener of this.#listeners.of(responseId)) listener.resync();
      return;
    }
    for (const message of parseMessages(text)) {
      for (const listener of this.#listeners.of(message.responseId)) listener.offer(message);
    }
  }

  #resyncAll(): void {
    for (const listener of this.#listeners.all()) listener.resync();
  }

  #tick(): void {
    const now = performance.now();
    for (const wait of this.#waits) wait.tick(now);
  }
}
