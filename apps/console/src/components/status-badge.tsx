import type { ResponseRow } from '@sluice/contract/admin';
import { type Tone, ToneBadge } from './tone-badge.tsx';

export type ResponseStatus = ResponseRow['status'];

/** The words of the statuses as the console shows them. */
export const statusWords: Record<ResponseStatus, string> = {
  queued: 'Queued',
  in_progress: 'In progress',
  completed: 'Completed',
  incomplete: 'Incomplete',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

const tones: Record<ResponseStatus, Tone> = {
  queued: 'warn',
  in_progress: 'info',
  completed: 'good',
  incomplete: 'partial',
  failed: 'bad',
  cancelled: 'quiet',
};

/** The status of a response, by colour and by word. */
export function StatusBadge({ status }: { status: ResponseStatus }) {
  return (
    <ToneBadge tone={tones[status]} isBreathing={status === 'in_progress'}>
      {statusWords[status]}
    </ToneBadge>
  );
}
