import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

export interface OpenDeliveriesOptions {
  connection: Pick<Redis, 'eval' | 'srem'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** After this long without a new one nothing of an endpoint is open any more, in milliseconds. */
  forMs: number;
}

const script = readFileSync(new URL('../src/enter-delivery.lua', import.meta.url), 'utf8');

/**
 * The deliveries of each endpoint that have not ended, so that an endpoint that takes nothing does not fill Redis. Entering twice and
 * leaving twice change nothing, so a retry after a lost reply counts once.
 */
export class OpenDeliveries {
  readonly #options: OpenDeliveriesOptions;

  constructor(options: OpenDeliveriesOptions) {
    this.#options = options;
  }

  /** `key`: that of the delivery in the queue. Returns `full` when the endpoint has `most` already, and `known` for one that is in the queue. */
  async enter(
    endpointId: string,
    delivery: { id: string; key: string },
    most: number,
  ): Promise<'entered' | 'known' | 'full'> {
    const { connection, forMs } = this.#options;
    const keys = [this.#key(endpointId), delivery.key];
    const entered = await connection.eval(script, keys.length, ...keys, delivery.id, most, forMs);
    return entered as 'entered' | 'known' | 'full'; // by the script
  }

  async leave(endpointId: string, deliveryId: string): Promise<void> {
    await this.#options.connection.srem(this.#key(endpointId), deliveryId);
  }

  #key(endpointId: string): string {
    return `${this.#options.keyPrefix}webhook-deliveries:${endpointId}`;
  }
}
