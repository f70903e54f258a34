import type { Overview, ProcessOverview } from '@sluice/contract/admin';
import { Meter } from '../../components/meter.tsx';
import { Panel } from '../../components/panel.tsx';
import { EmptyState } from '../../components/states.tsx';
import { Duration, Moment } from '../../components/times.tsx';
import { ToneBadge } from '../../components/tone-badge.tsx';
import { countOf, formatCount } from '../../format/numbers.ts';
import { isSilent } from './attention.ts';
import classes from './overview.module.css';

type Worker = Extract<ProcessOverview, { role: 'worker' }>;
type Api = Extract<ProcessOverview, { role: 'api' }>;

/** The processes of the service: workers with their slots, then apis. */
export function WorkersPanel({ overview: { at, processes, lost = [] } }: { overview: Overview }) {
  const workers = processes.filter((each): each is Worker => each.role === 'worker');
  const apis = processes.filter((each): each is Api => each.role === 'api');
  const note = [
    countOf(workers.length, 'worker'),
    countOf(apis.length, 'api'),
    ...(lost.length > 0 ? [`${formatCount(lost.length)} lost`] : []),
  ].join(', ');
  return (
    <div className={classes['anchor']} id="workers">
      <Panel title="Processes" note={note} padded={false}>
        {workers.length === 0 && (
          <EmptyState title="No worker runs">
            Start one, and it takes the responses that wait. If one is running, see whether it reaches the
            same Redis.
          </EmptyState>
        )}
        <ul className={classes['processes']}>
          {workers.map((worker) => (
            <li key={worker.id} className={classes['process']}>
              <Name process={worker} at={at} />
              <Slots worker={worker} />
              <State process={worker} at={at} />
            </li>
          ))}
          {apis.map((api) => (
            <li key={api.id} className={classes['process']}>
              <Name process={api} at={at} />
              <div className={classes['slots']}>
                <span className={classes['detail']}>
                  {formatCount(api.open_requests)} open requests, {formatCount(api.web_sockets)} WebSockets
                </span>
              </div>
              <State process={api} at={at} />
            </li>
          ))}
          {lost.map((process) => (
            <li key={process.id} className={classes['process']}>
              <Name process={process} at={process.seen_at} isLost />
              <Held process={process} />
              <ToneBadge
                tone="bad"
                title="It fell silent without signing off, and is listed for a day or until it is back"
              >
                Lost <Duration ms={Math.max(0, at - process.seen_at)} /> ago
              </ToneBadge>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

function Name({ process, at, isLost = false }: { process: ProcessOverview; at: number; isLost?: boolean }) {
  return (
    <div className={classes['name']}>
      <div className={classes['host']} title={process.host}>
        {process.host}
      </div>
      <div className={classes['detail']}>
        {process.role} {process.version}, process {process.pid}, {isLost ? 'was up' : 'up'}{' '}
        <Duration ms={Math.max(0, at - process.started_at)} />
      </div>
    </div>
  );
}

function Slots({ worker }: { worker: Worker }) {
  return (
    <div className={classes['slots']}>
      {worker.slots.map(({ queue, running, slots }) => {
        const text = `${formatCount(running)} of ${formatCount(slots)}`;
        return (
          <div key={queue} className={classes['slot']}>
            <span title={queue}>{queue}</span>
            <span>{text}</span>
            <Meter label={`Slots of ${worker.host} for ${queue}`} value={running} max={slots} text={text} />
          </div>
        );
      })}
      {worker.slots.length === 0 && <span className={classes['detail']}>It takes from no queue.</span>}
    </div>
  );
}

/** The work of a lost process when it was last heard of. Others take it over. */
function Held({ process }: { process: ProcessOverview }) {
  const held =
    process.role === 'api'
      ? countOf(process.open_requests, 'open request')
      : [
          `${countOf(process.running, 'response')} running`,
          ...process.slots.map(({ queue, running }) => `${formatCount(running)} of ${queue}`),
        ].join(', ');
  return (
    <div className={classes['slots']}>
      <span className={classes['detail']}>
        Held {held} when it was heard of last, <Moment at={process.seen_at} />
      </span>
    </div>
  );
}

function State({ process, at }: { process: ProcessOverview; at: number }) {
  if (isSilent(process, at)) {
    return (
      <ToneBadge tone="bad" title="It should report every few seconds, and has not">
        Silent for {Math.round((at - process.seen_at) / 1000)} s
      </ToneBadge>
    );
  }
  if (process.stopping) {
    return (
      <ToneBadge tone="warn" title="It takes nothing new and finishes what runs">
        Stopping
      </ToneBadge>
    );
  }
  return <ToneBadge tone="good">Up</ToneBadge>;
}
