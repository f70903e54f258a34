import type { Act } from '@sluice/contract/admin';
import { formatCount } from '../../format/numbers.ts';

/** What a drain does or has done, as the title of its progress. */
export function actTitle({ state, target }: Pick<Act, 'state' | 'target'>): string {
  switch (state) {
    case 'running':
      return `Draining ${target}`;
    case 'done':
      return `Drained ${target}`;
    case 'stopped':
      return `Stopped draining ${target}`;
    case 'interrupted':
      return `Draining ${target} was interrupted: the process that did it is gone. Drain it again.`;
    case 'failed':
      return `Draining ${target} failed`;
  }
}

export function actTone({ state, failed }: Pick<Act, 'state' | 'failed'>): 'running' | 'done' | 'failed' {
  if (state === 'running') return 'running';
  return state === 'done' && failed === 0 ? 'done' : 'failed';
}

/** The figures that are not in the bar; undefined when there are none. */
export function actNote({
  done,
  skipped,
  failed,
  error,
}: Pick<Act, 'done' | 'skipped' | 'failed' | 'error'>) {
  const parts = [
    `${formatCount(done)} cancelled`,
    ...(skipped > 0 ? [`${formatCount(skipped)} had begun or ended`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(error === null ? [] : [error]),
  ];
  return parts.join(' · ');
}
