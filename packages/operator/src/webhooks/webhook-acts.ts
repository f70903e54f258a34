import { ServiceError } from '@sluice/contract';
import type { DeliveryRow, SentDelivery } from '@sluice/contract/admin';
import type { Asker, Audit } from '../audit/audit.ts';

/** The deliveries that are asked for; all of them without tenants or states. */
export interface DeliveryFilter {
  tenants?: readonly string[] | undefined;
  states?: readonly DeliveryRow['state'][] | undefined;
  /** Most that are returned, the newest first. */
  limit: number;
}

/** The deliveries of webhooks, as their queue has them. */
export interface Deliveries {
  list: (filter: DeliveryFilter) => Promise<DeliveryRow[]>;
  sendAgain: (id: string) => Promise<'begun' | 'under_way' | 'unknown'>;
}

export interface WebhookActsOptions {
  /** Undefined where webhooks are switched off. */
  deliveries: Deliveries | undefined;
  audit: Pick<Audit, 'perform'>;
}

/** Deliveries of webhooks as operators see them, and sending one again, with its entries in the audit log. */
export class WebhookActs {
  readonly #options: WebhookActsOptions;

  constructor(options: WebhookActsOptions) {
    this.#options = options;
  }

  /** @throws {ServiceError} where webhooks are switched off. */
  list(filter: DeliveryFilter): Promise<DeliveryRow[]> {
    return this.#deliveries.list(filter);
  }

  /**
   * Sends a delivery again that has ended, to its endpoint as it is now.
   *
   * @throws {ServiceError} when there is none, or it has not ended.
   */
  send(id: string, asker: Asker): Promise<SentDelivery> {
    const deliveries = this.#deliveries;
    return this.#options.audit.perform({ action: 'delivery.send', target: id, ...asker }, async () => {
      switch (await deliveries.sendAgain(id)) {
        case 'begun':
          return { object: 'sent_delivery', id };
        case 'unknown':
          throw new ServiceError('not_found', 'There is no delivery with this id.', { param: 'id' });
        case 'under_way':
          throw new ServiceError(
            'invalid_value',
            'The delivery has not ended yet, and is tried again by itself.',
            {
              param: 'id',
            },
          );
      }
    });
  }

  get #deliveries(): Deliveries {
    const { deliveries } = this.#options;
    if (!deliveries) throw new ServiceError('webhooks_off');
    return deliveries;
  }
}
