import type { Act } from '@sluice/contract/admin';
import { formatCount } from '../format/numbers.ts';

/** The words of each action: while it runs, when it is done, and for the outcome of each response. */
const words = {
  drain: { doing: 'Draining', did: 'Drained', each: 'cancelled', skipped: 'had begun or ended' },
  cancel: { doing: 'Cancelling', did: 'Cancelled', each: 'cancelled', skipped: 'had ended' },
  retry: { doing: 'Retrying', did: 'Retried', each: 'created again', skipped: 'open or no longer kept' },
} as const;

/** The title of the progress of an act that runs or has ended. */
export function actTitle({ action, state, target }: Pick<Act, 'action' | 'state' | 'target'>): string {
  const { doing, did } = words[action];
  const what = action === 'drain' ? target : 'responses';
  switch (state) {
    case 'running':
      return `${doing} ${what}`;
    case 'done':
      return `${did} ${what}`;
    case 'stopped':
      return `Stopped ${doing.toLowerCase()} ${what}`;
    case 'interrupted':
      return `${doing} ${what} was interrupted: the process that did it is gone. Start it again.`;
    case 'failed':
      return `${doing} ${what} failed`;
  }
}

export function actTone({ state, failed }: Pick<Act, 'state' | 'failed'>): 'running' | 'done' | 'failed' {
  if (state === 'running') return 'running';
  return state === 'done' && failed === 0 ? 'done' : 'failed';
}

/** The figures that are not in the bar. */
export function actNote(act: Pick<Act, 'action' | 'done' | 'skipped' | 'failed' | 'error'>): string {
  const { action, done, skipped, failed, error } = act;
  const { each, skipped: skippedAs } = words[action];
  const parts = [
    `${formatCount(done)} ${each}`,
    ...(skipped > 0 ? [`${formatCount(skipped)} ${skippedAs}`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(error === null ? [] : [error]),
  ];
  return parts.join(' · ');
}
