import type { ResponseDetail } from '@sluice/contract/admin';
import { Panel } from '../../components/panel.tsx';
import { formatClock, formatMoment } from '../../format/times.ts';
import classes from './response.module.css';

/** Everything that happened to it, in order. */
export function JournalPanel({ journal }: { journal: ResponseDetail['journal'] }) {
  if (journal.length === 0) return null;
  return (
    <Panel title="Journal">
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
