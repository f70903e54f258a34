import type { Overview } from '@sluice/contract/admin';
import { IconCircleCheck } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Panel } from '../../components/panel.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatCount } from '../../format/numbers.ts';
import classes from './overview.module.css';

const most = 8;

/** Why responses failed in the last hour, the most frequent first; each leads to the responses. */
export function ErrorsPanel({ overview }: { overview: Overview }) {
  const errors = overview.errors.toSorted((one, other) => other.count - one.count).slice(0, most);
  const largest = errors[0]?.count ?? 0;
  return (
    <Panel title="Errors" note="of the last hour, by code">
      {errors.length === 0 ? (
        <EmptyState title="No response failed" icon={<IconCircleCheck size={26} stroke={1.5} />} />
      ) : (
        <ul className={classes['bars']}>
          {errors.map(({ value, count }) => (
            <li key={value}>
              <Link
                className={classes['bar']}
                to="/responses"
                search={{ error_code: [value], since: ['1h'] }}
              >
                <span className={classes['length']} style={{ width: `${(count / largest) * 100}%` }} />
                <code className={classes['code']} title={value}>
                  {value}
                </code>
                <span>{formatCount(count)}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
