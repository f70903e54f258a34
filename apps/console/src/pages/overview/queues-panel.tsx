import type { Overview, QueueOverview } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import { Meter } from '../../components/meter.tsx';
import { Panel } from '../../components/panel.tsx';
import { capacityOf } from '../../components/queue-capacity.ts';
import { QueueState } from '../../components/queue-state.tsx';
import { type SmallColumn, SmallTable } from '../../components/small-table.tsx';
import { EmptyState } from '../../components/states.tsx';
import { Duration } from '../../components/times.tsx';
import { formatCount } from '../../format/numbers.ts';
import classes from './overview.module.css';

/** Queues with the longest lines are shown; the others are on their own page. */
const most = 8;

const columns: readonly SmallColumn<QueueOverview>[] = [
  {
    key: 'queue',
    header: 'Queue',
    grows: true,
    cell: QueueName,
  },
  { key: 'state', header: 'State', hideBelow: 'sm', cell: (queue) => <QueueState queue={queue} /> },
  { key: 'waiting', header: 'Waiting', align: 'end', cell: ({ waiting }) => formatCount(waiting) },
  {
    key: 'oldest',
    header: 'Oldest',
    align: 'end',
    cell: ({ oldest_wait_ms: wait }) => <Duration ms={wait} />,
  },
  { key: 'running', header: 'Running', align: 'end', cell: (queue) => <Running queue={queue} /> },
];

/** Leads to the responses of its models, and to the queue alone where its models have left it: theirs would be those of all queues. */
function QueueName({ queue, models }: QueueOverview) {
  const className = classes['link'];
  return models.length === 0 ? (
    <Link className={className} to="/queues" search={{ q: [queue] }}>
      {queue}
    </Link>
  ) : (
    <Link
      className={className}
      to="/responses"
      search={{ status: ['queued', 'in_progress'], model: models }}
      title={models.join(', ')}
    >
      {queue}
    </Link>
  );
}

function Running({ queue }: { queue: QueueOverview }) {
  const capacity = capacityOf(queue);
  if (capacity === null) return formatCount(queue.active);
  const text = `${formatCount(queue.active)} of ${formatCount(capacity)}`;
  return (
    <span className={classes['gauge']}>
      {text}
      <Meter label={`Running in ${queue.queue}`} value={queue.active} max={capacity} text={text} />
    </span>
  );
}

export function QueuesPanel({ overview }: { overview: Overview }) {
  const queues = overview.queues;
  const shown =
    queues.length <= most
      ? queues
      : queues.toSorted((one, other) => other.waiting - one.waiting).slice(0, most);
  return (
    <Panel
      title="Queues"
      padded={false}
      actions={
        <Link className={classes['link']} to="/queues">
          {queues.length > most ? `All ${formatCount(queues.length)} queues` : 'All queues'}
        </Link>
      }
    >
      {queues.length === 0 ? (
        <EmptyState title="There are no queues">The settings name no model.</EmptyState>
      ) : (
        <SmallTable label="Queues" columns={columns} rows={shown} rowKey={({ queue }) => queue} />
      )}
    </Panel>
  );
}
