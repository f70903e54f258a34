import type { Settings } from '@sluice/config';
import { webhookEventTypes } from '@sluice/contract';
import type { AttemptStores, EndFact } from '@sluice/response-store';
import { type Logger, throttledWarning } from '@sluice/runtime';
import { type Happening, type SendEvent, sendingBy, WebhookSender } from '@sluice/webhooks';
import { OutboxFollowers, type WorkerClients, type Wired } from '@sluice/wiring';

/** Most ends that are planned in one go. */
const mostAtOnce = 100;

export interface WorkerWebhooksOptions {
  settings: Pick<Settings, 'webhooks' | 'usage' | 'recovery'>;
  wired: Wired<WorkerClients, AttemptStores>;
  workerId: string;
  /** Sends an event once; over HTTP by default. */
  sendEvent?: SendEvent | undefined;
  logger: Logger;
}

/**
 * The part of a worker that tells endpoints of the ends of responses in the background, of those of batches, and of budgets that are nearly used up. One worker at a time plans deliveries from the
 * outbox, and all of them send.
 */
export class WorkerWebhooks {
  readonly #sender: WebhookSender;
  readonly #follower: OutboxFollowers;

  constructor({ settings, wired, workerId, sendEvent, logger }: WorkerWebhooksOptions) {
    const { commands, jobs } = wired.clients;
    const { keyPrefix } = wired;
    const { lockMs, stalledMs } = settings.recovery;
    this.#sender = new WebhookSender({
      ...sendingBy(settings.webhooks),
      sendEvent,
      connection: commands,
      jobs,
      keyPrefix,
      now: () => wired.clock.now(),
      lockMs,
      stalledMs,
      logger,
      onTry: (outcome) => wired.telemetry.emit('webhook.tried', { outcome }),
    });
    this.#follower = new OutboxFollowers({
      settings,
      wired,
      name: 'webhooks',
      process: workerId,
      mostAtOnce,
      tell: (ends, happenings) =>
        this.#sender.plan([...ends.flatMap((end) => endedResponse(end) ?? []), ...happenings]),
      onLost: (count) =>
        logger.warn({ count }, 'ends of responses were not told to webhooks: too many waited'),
      onError: throttledWarning(logger, 'outbox not read').warn,
    });
  }

  start(): void {
    this.#sender.start();
    this.#follower.start();
  }

  /** Plans and sends no more; what is on its way is sent to the end. */
  async stop(): Promise<void> {
    await this.#follower.stop();
    await this.#sender.stop();
  }
}

/**
 * Undefined for an end of which no endpoint is told: somebody waited for the response and knows. The lines of a batch are awaited by it,
 * which tells of its own end.
 */
export function endedResponse({
  id,
  tenant,
  status,
  tier,
  background,
  endedAt,
  webhookUrl: url,
}: EndFact): Happening | undefined {
  if (tier === 'batch' && url === undefined) return undefined;
  const type = webhookEventTypes.find((each) => each === `response.${status}`);
  return background && type ? { id, tenant, type, at: endedAt, url } : undefined;
}
