import type { AttemptReport } from '@sluice/contract/admin';
import { Panel } from '../../components/panel.tsx';
import { Duration, Moment } from '../../components/times.tsx';
import { StateBadge, type StateWords } from '../../components/tone-badge.tsx';
import classes from './response.module.css';

const outcomes: Record<AttemptReport['outcome'], StateWords> = {
  running: ['info', 'Running'],
  ended: ['good', 'Ended it'],
  failed: ['bad', 'Failed'],
  retried: ['warn', 'Failed, tried again'],
  postponed: ['warn', 'Postponed'],
  given_back: ['quiet', 'Handed over'],
  lost: ['bad', 'Lost with its worker'],
};

/** Every run of the response: where it ran, and its outcome. */
export function AttemptsPanel({ attempts }: { attempts: readonly AttemptReport[] }) {
  return (
    <Panel title="Attempts" padded={false}>
      {attempts.length === 0 ? (
        <p className={classes['quiet']}>No attempt has begun.</p>
      ) : (
        // It scrolls, so the keyboard has to reach it.
        <div className={classes['scroller']} role="region" tabIndex={0} aria-label="Attempts, first to last">
          <table className={classes['table']}>
            <thead>
              <tr>
                {['Attempt', 'Outcome', 'Error', 'Upstream', 'Worker', 'Began', 'First output', 'Took'].map(
                  (name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {attempts.map((attempt, at) => (
                <Row key={at} attempt={attempt} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Row({ attempt }: { attempt: AttemptReport }) {
  const { started_at: from, ended_at: to, first_output_at: first, upstream_status: status } = attempt;
  const upstream = [attempt.provider, attempt.upstream_model].filter((name) => name !== null).join(' / ');
  return (
    <>
      <tr>
        <td>{attempt.attempt}</td>
        <td>
          <StateBadge words={outcomes[attempt.outcome]} />
          {attempt.retry_delay_ms !== null && (
            <>
              {' '}
              after <Duration ms={attempt.retry_delay_ms} />
            </>
          )}
        </td>
        <td>
          {attempt.error_code !== null && <code>{attempt.error_code}</code>}
          {status !== null && ` (HTTP ${status})`}
        </td>
        <td>{upstream === '' ? '–' : upstream}</td>
        <td>
          <WorkerName attempt={attempt} />
        </td>
        <td>
          <Moment at={from} />
        </td>
        <td>
          <Duration ms={from === null || first === null ? null : first - from} />
        </td>
        <td>
          <Duration ms={from === null || to === null ? null : to - from} />
        </td>
      </tr>
      {attempt.upstream_reason !== null && (
        <tr className={classes['reason']}>
          <td colSpan={8}>
            <div>The upstream said: {attempt.upstream_reason}</div>
          </td>
        </tr>
      )}
    </>
  );
}

/** As the overview names it. An older release has told no more than an id. */
function WorkerName({ attempt: { worker, worker_host: host, worker_pid: pid } }: { attempt: AttemptReport }) {
  if (worker === null) return '–';
  if (host === null) return <code>{worker}</code>;
  return <span title={worker}>{pid === null ? host : `${host} (process ${pid})`}</span>;
}
