import { Button, Checkbox, NumberInput } from '@mantine/core';
import type { ResponseDetail, TailEvent } from '@sluice/contract/admin';
import { IconPlayerPlay, IconPlayerStop, IconScissors } from '@tabler/icons-react';
import { useState } from 'react';
import { Panel } from '../../components/panel.tsx';
import { describeError } from '../../components/states.tsx';
import { StateBadge, type StateWords } from '../../components/tone-badge.tsx';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import classes from './tail.module.css';
import { type Tail, type TailState, useTail } from './use-tail.ts';

const states: Record<TailState, StateWords> = {
  stopped: ['quiet', 'Not followed'],
  connecting: ['info', 'Connecting'],
  live: ['good', 'Live'],
  cut: ['warn', 'Cut'],
  over: ['quiet', 'Everything was sent'],
  failed: ['bad', 'Broken off'],
};

/** The events of a response with their numbers, from any of them on, and a button that cuts the connection and resumes it. */
export function TailPanel({ id, events }: { id: string; events: ResponseDetail['events'] }) {
  const tail = useTail(id);
  const [after, setAfter] = useState(-1);
  const [withContent, setWithContent] = useState(false);
  const unlocked = useUnlocked();
  const isRunning = tail.state === 'live' || tail.state === 'connecting' || tail.state === 'cut';
  const start = () => tail.start(after, withContent);
  if (!events.is_kept) {
    return (
      <Panel title="Events">
        <p className={classes['quiet']}>Its events are no longer kept. The response itself may be.</p>
      </Panel>
    );
  }
  return (
    <Panel
      title="Events"
      note={<StateBadge words={states[tail.state]} />}
      actions={
        <>
          {isRunning && (
            <Button
              variant="default"
              leftSection={<IconScissors size={16} />}
              disabled={tail.state !== 'live'}
              onClick={tail.cutAndResume}
            >
              Cut and resume
            </Button>
          )}
          {isRunning ? (
            <Button variant="default" leftSection={<IconPlayerStop size={16} />} onClick={tail.stop}>
              Stop
            </Button>
          ) : (
            <Button
              leftSection={<IconPlayerPlay size={16} />}
              onClick={() => (withContent ? unlocked(start) : start())}
            >
              Follow
            </Button>
          )}
        </>
      }
    >
      <div className={classes['options']}>
        <NumberInput
          label="After event"
          description="-1 begins with the first"
          value={after}
          min={-1}
          max={Number.MAX_SAFE_INTEGER}
          allowDecimal={false}
          disabled={isRunning}
          onChange={(value) => setAfter(typeof value === 'number' ? value : -1)}
        />
        <Checkbox
          label="With content"
          description="Needs the action token, and is written to the audit log"
          checked={withContent}
          disabled={isRunning}
          onChange={(event) => setWithContent(event.currentTarget.checked)}
        />
      </div>
      <Received tail={tail} />
      {tail.state === 'failed' && (
        <p className={classes['failed']} role="alert">
          {tail.error === undefined ? 'The connection ended.' : describeError(tail.error).title} Follow it
          again to go on.
        </p>
      )}
      {tail.log.events.length > 0 && <Events events={tail.log.events} />}
    </Panel>
  );
}

/** The received events, and whether any are missing or came twice. */
function Received({ tail: { log, state } }: { tail: Tail }) {
  if (log.received === 0 && log.cuts === 0) {
    return state === 'stopped' ? null : <p className={classes['quiet']}>No event yet.</p>;
  }
  const isWhole = log.missing === 0 && log.repeated === 0;
  const cuts = log.cuts === 0 ? '' : `, over ${log.cuts === 1 ? 'one cut' : `${log.cuts} cuts`}`;
  return (
    <p className={classes['received']} data-whole={isWhole} role="status">
      {formatCount(log.received)} events received up to number {formatCount(log.last)}
      {cuts}: {formatCount(log.missing)} missing, {formatCount(log.repeated)} repeated.
      {log.end === 'gone' && ' The response was deleted or has expired.'}
    </p>
  );
}

function Events({ events }: { events: readonly TailEvent[] }) {
  return (
    // It scrolls, so the keyboard has to reach it.
    <div className={classes['log']} role="region" tabIndex={0} aria-label="Events, newest first">
      <table className={classes['table']}>
        <thead>
          <tr>
            <th scope="col">Number</th>
            <th scope="col">Type</th>
            <th scope="col">Size</th>
          </tr>
        </thead>
        <tbody>
          {events.toReversed().map((event) => (
            <tr key={event.sequence_number}>
              <td>{event.sequence_number}</td>
              <td>
                <code>{event.type}</code>
                {event.event !== undefined && (
                  <pre className={classes['content']}>{JSON.stringify(event.event)}</pre>
                )}
              </td>
              <td>{formatBytes(event.bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
