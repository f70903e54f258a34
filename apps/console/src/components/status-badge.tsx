import type { ResponseRow } from '@sluice/contract/admin';
import classes from './status-badge.module.css';

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

/** The status of a response, by colour and by word. */
export function StatusBadge({ status }: { status: ResponseStatus }) {
  return (
    <span className={classes['badge']} data-status={status}>
      <span className={classes['dot']} aria-hidden="true" />
      {statusWords[status]}
    </span>
  );
}
