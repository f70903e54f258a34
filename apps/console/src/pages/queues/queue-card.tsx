import { Button } from '@mantine/core';
import type { QueueOverview } from '@sluice/contract/admin';
import { IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Meter } from '../../components/meter.tsx';
import { capacityOf } from '../../components/queue-capacity.ts';
import { QueueState } from '../../components/queue-state.tsx';
import { Duration } from '../../components/times.tsx';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { formatCount } from '../../format/numbers.ts';
import classes from './queues.module.css';
import { useSwitchQueue } from './use-switch-queue.ts';

interface QueueCardProps {
  queue: QueueOverview;
  onPause: () => void;
  onDrain: () => void;
}

/** One queue: its state, its figures and its acts. */
export function QueueCard({ queue, onPause, onDrain }: QueueCardProps) {
  const { queue: name, models, paused, waiting, oldest_wait_ms: oldest } = queue;
  const resume = useSwitchQueue('resume');
  const unlocked = useUnlocked();
  return (
    <li className={classes['card']} aria-label={name}>
      <div className={classes['name']}>
        <span className={classes['title']} title={name}>
          {name}
        </span>
        <QueueState queue={queue} />
        <span className={classes['models']}>
          <Models models={models} />
        </span>
      </div>
      <dl className={classes['figures']}>
        <div>
          <dt>Waiting</dt>
          <dd>
            {models.length === 0 ? (
              // Responses are found by their models: without any the link would lead to those of all queues.
              formatCount(waiting)
            ) : (
              <Link
                className={classes['link']}
                to="/responses"
                search={{ status: ['queued'], model: models }}
              >
                {formatCount(waiting)}
              </Link>
            )}
          </dd>
        </div>
        <div>
          <dt>Oldest wait</dt>
          <dd>
            <Duration ms={oldest} />
          </dd>
        </div>
        <div className={classes['running']}>
          <dt>Running</dt>
          <dd>
            <Running queue={queue} />
          </dd>
        </div>
      </dl>
      <div className={classes['acts']}>
        {paused ? (
          <Button
            leftSection={<IconPlayerPlay size={16} />}
            loading={resume.isPending}
            aria-label={`Resume ${name}`}
            onClick={() => unlocked(() => resume.mutate(name))}
          >
            Resume
          </Button>
        ) : (
          <Button
            variant="default"
            leftSection={<IconPlayerPause size={16} />}
            aria-label={`Pause ${name}`}
            onClick={() => unlocked(onPause)}
          >
            Pause
          </Button>
        )}
        <Button
          variant="default"
          leftSection={<IconTrash size={16} />}
          disabled={waiting === 0}
          aria-label={`Drain ${name}`}
          onClick={() => unlocked(onDrain)}
        >
          Drain
        </Button>
      </div>
    </li>
  );
}

function Running({ queue }: { queue: QueueOverview }) {
  const { queue: name, active, slots, concurrency } = queue;
  const capacity = capacityOf(queue);
  if (capacity === null) return formatCount(active);
  const running = `${formatCount(active)} of ${formatCount(capacity)}`;
  const hints = [
    ...(concurrency !== null && (slots === null || concurrency < slots)
      ? [`limit of ${formatCount(concurrency)}`]
      : []),
    ...(slots === null ? [] : [`${formatCount(slots)} slots`]),
  ];
  return (
    <>
      {running}
      <Meter label={`Running in ${name}`} value={active} max={capacity} text={running} />
      <span className={classes['hint']}>{hints.join(', ')}</span>
    </>
  );
}

function Models({ models }: { models: readonly string[] }) {
  if (models.length === 0) return 'no model';
  return models.map((model, at) => (
    <span key={model}>
      {at > 0 && ', '}
      <Link className={classes['link']} to="/responses" search={{ model: [model] }}>
        {model}
      </Link>
    </span>
  ));
}
