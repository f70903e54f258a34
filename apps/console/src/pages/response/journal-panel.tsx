import type { ResponseDetail } from '@sluice/contract/admin';
import { Panel } from '../../components/panel.tsx';
import { formatCount } from '../../format/numbers.ts';
import { formatClock, formatMoment } from '../../format/times.ts';
import classes from './response.module.css';

/** Everything that happened to it, in order. */
export function JournalPanel({
  journal,
  journal_left_out: leftOut,
}: Pick<ResponseDetail, 'journal' | 'journal_left_out'>) {
  if (journal.length === 0) return null;
  return (
    <Panel title="Journal" {...(leftOut > 0 && { note: `${formatCount(leftOut)} in between left out` })}>
      <ol className={classes['journal']}>
        {journal.map(({ at, what, detail }, line) => (
          <li key={line}>
            <time dateTime={new Date(at).toISOString()} title={formatMoment(at)}>
              {formatClock(at)}
            </time>
            <span>{what.replaceAll('_', ' ')}</span>
            <span className={classes['detail']}>{detail}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
