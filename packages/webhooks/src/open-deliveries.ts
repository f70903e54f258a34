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

  /** Returns false when the endpoint has `most` already. */
  async enter(endpointId: string, deliveryId: string, most: number): Promise<boolean> {
    const { connection, forMs } = this.#options;
    return (await connection.eval(script, 1, this.#key(endpointId), deliveryId, most, forMs)) === 1;
  }

  async leave(endpointId: string, deliveryId: string): Promise<void> {
    await this.#options.connection.srem(this.#key(endpointId), deliveryId);
  }

  #key(endpointId: string): string {
    return `${this.#options.keyPrefix}webhook-deliveries:${endpointId}`;
  }
}
