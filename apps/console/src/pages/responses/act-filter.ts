import type { ResponseFilter, StartAct } from '@sluice/contract/admin';

type Action = StartAct['action'];

/** What an act takes where no status is asked for. A completed or incomplete response would be paid for again. */
const usualStatuses = {
  cancel: ['queued', 'in_progress'],
  retry: ['failed', 'cancelled'],
} as const satisfies Record<Action, ResponseFilter['status']>;

const usualWords = { cancel: 'that have not ended', retry: 'that failed or were cancelled' } as const;

/** The filter that an act is given: that of the list, narrowed to what the act is for where it asks for no status. */
export function actFilter(action: Action, filter: ResponseFilter): ResponseFilter {
  return filter.status === undefined ? { ...filter, status: [...usualStatuses[action]] } : filter;
}

/** The part of what a filter matches that an act takes, such as "that have not ended"; undefined where that is all of it. */
export function actPart(action: Action, { status }: ResponseFilter): string | undefined {
  return status === undefined ? usualWords[action] : undefined;
}

/** The act in words, for a menu. */
export function actLabel(action: Action, { status }: ResponseFilter): string {
  if (action === 'cancel') return `Cancel those ${usualWords.cancel}`;
  if (status === undefined) return `Retry those ${usualWords.retry}`;
  return status.includes('completed')
    ? 'Retry all that have ended, completed ones too'
    : 'Retry all that have ended';
}

/** What becomes of each response, and which are passed over. */
export function actEffect(action: Action, { status }: ResponseFilter): string {
  if (action === 'cancel') {
    return 'Those that wait or run are cancelled, and their callers are told. Those that have ended are skipped.';
  }
  const again = 'Each that has ended is created again, in the background, within the limits of its tenant.';
  if (status === undefined) {
    return `${again} Completed and incomplete ones are left alone: filter by status to retry those.`;
  }
  const completed = status.includes('completed')
    ? ' Completed ones are, too, and count as use once more.'
    : '';
  return `${again}${completed} Those that are open are skipped.`;
}
