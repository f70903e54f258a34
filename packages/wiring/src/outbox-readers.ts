import type { Settings } from '@sluice/config';
import type { OutboxWriting } from '@sluice/response-store';

/** The readers of the outbox, by their names there. */
export type OutboxReaderName = 'webhooks' | 'usage';

/** How many ends wait to be told at most: some 30 MB of Redis. */
const mostTold = 100_000;

/** The readers that the settings switch on: every process has the same. */
export function outboxReaders({ webhooks, usage }: Pick<Settings, 'webhooks' | 'usage'>): OutboxReaderName[] {
  return [...(webhooks.enabled ? ['webhooks' as const] : []), ...(usage.enabled ? ['usage' as const] : [])];
}

/** The ends that they need to be told of; undefined when there are none. */
export function outboxWriting(settings: Pick<Settings, 'webhooks' | 'usage'>): OutboxWriting | undefined {
  const readers = outboxReaders(settings);
  if (readers.length === 0) return undefined;
  const { label } = settings.usage;
  return {
    ends: readers.includes('usage') ? 'all' : 'background',
    most: mostTold,
    ...(label !== undefined && { label }),
  };
}
