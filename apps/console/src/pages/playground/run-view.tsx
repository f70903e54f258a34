import { Link } from '@tanstack/react-router';
import { CodeBlock } from '../../components/code-block.tsx';
import { Duration } from '../../components/times.tsx';
import { describeError } from '../../components/states.tsx';
import { StateBadge, type StateWords } from '../../components/tone-badge.tsx';
import { formatCount, formatRate } from '../../format/numbers.ts';
import classes from './playground.module.css';
import type { Run } from './fold-run.ts';

const states: Record<Run['state'], StateWords> = {
  running: ['info', 'Running'],
  done: ['good', 'Done'],
  failed: ['bad', 'Failed'],
  stopped: ['quiet', 'Stopped'],
};

/** A run: its text as it comes, and its figures. */
export function RunView({ run }: { run: Run | undefined }) {
  if (run === undefined) return <p className={classes['quiet']}>Nothing was sent yet.</p>;
  const { state, id, status, text, events, firstTokenMs, tookMs, outputTokens, position, calls, error } = run;
  const seconds = tookMs === undefined ? undefined : (tookMs - (firstTokenMs ?? 0)) / 1000;
  return (
    <>
      <div className={classes['line']} role="status">
        <StateBadge words={states[state]} />
        {status !== undefined && <span>{status.replace('_', ' ')}</span>}
        {position !== undefined && <span>place {formatCount(position)} in its queue</span>}
        {id !== undefined && (
          <Link to="/responses/$id" params={{ id }}>
            Its page
          </Link>
        )}
      </div>
      <dl className={classes['figures']}>
        <div>
          <dt>First token</dt>
          <dd>
            <Duration ms={firstTokenMs === undefined ? undefined : Math.round(firstTokenMs)} />
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>
            <Duration ms={tookMs === undefined ? undefined : Math.round(tookMs)} />
          </dd>
        </div>
        <div>
          <dt>Output tokens</dt>
          <dd>{formatCount(outputTokens)}</dd>
        </div>
        <div>
          <dt>Tokens per second</dt>
          <dd>{formatRate(outputTokens === undefined || !seconds ? undefined : outputTokens / seconds)}</dd>
        </div>
        <div>
          <dt>Events</dt>
          <dd>{formatCount(events)}</dd>
        </div>
      </dl>
      {error !== undefined && (
        <p className={classes['error']} role="alert">
          {describeError(error).title === 'This page failed' && error instanceof Error
            ? error.message
            : describeError(error).title}
        </p>
      )}
      {/* It scrolls, so the keyboard has to reach it. */}
      {text !== '' && (
        <pre className={classes['text']} tabIndex={0} aria-label="Answer">
          {text}
        </pre>
      )}
      {calls.length > 0 && (
        <ul className={classes['calls']} aria-label="Calls of tools">
          {calls.map((call, at) => (
            // Calls are only ever added.
            <li key={at}>
              <span className={classes['call']}>{call.name}</span>
              <CodeBlock text={call.arguments} label={`Copy the arguments of ${call.name}`} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
