import type { QueueOverview } from '@sluice/contract/admin';
import { ToneBadge } from './tone-badge.tsx';

/** Whether workers take from a queue. */
export function QueueState({
  queue,
}: {
  queue: Pick<QueueOverview, 'paused' | 'slots' | 'waiting' | 'active'>;
}) {
  if (queue.paused) {
    return (
      <ToneBadge tone="warn" title="No worker takes from it until it is resumed">
        Paused
      </ToneBadge>
    );
  }
  if (queue.slots === 0 && queue.active === 0) {
    return (
      <ToneBadge tone={queue.waiting > 0 ? 'bad' : 'quiet'} title="No worker that reports has slots for it">
        No worker
      </ToneBadge>
    );
  }
  return <ToneBadge tone="good">Open</ToneBadge>;
}
