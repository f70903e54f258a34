import type { Overview, UpstreamOverview } from '@sluice/contract/admin';
import { Panel } from '../../components/panel.tsx';
import { EmptyState } from '../../components/states.tsx';
import { StateBadge, type StateWords, ToneBadge } from '../../components/tone-badge.tsx';
import { formatCount, formatRate } from '../../format/numbers.ts';
import { formatDuration } from '../../format/times.ts';
import classes from './overview.module.css';

const breakers: Record<UpstreamOverview['breaker'], StateWords> = {
  closed: ['good', 'Up', 'The breaker is closed: calls go through'],
  half_open: ['warn', 'Tried again', 'The breaker is half open: a call goes through now and then, to see'],
  open: ['bad', 'Down', 'The breaker is open: no call goes through for a while'],
};

/** The upstreams over all workers: whether they are up, and what is under way there. */
export function UpstreamsPanel({ overview: { upstreams } }: { overview: Overview }) {
  return (
    <div className={classes['anchor']} id="upstreams">
      <Panel title="Upstreams" padded={false}>
        {upstreams.length === 0 ? (
          <EmptyState title="No upstream was called yet">
            Workers tell of them once they have called one.
          </EmptyState>
        ) : (
          <ul className={classes['processes']}>
            {upstreams.map((upstream) => (
              <Upstream key={`${upstream.provider} ${upstream.server ?? ''}`} upstream={upstream} />
            ))}
          </ul>
        )}
      </Panel>
    </div>
  );
}

function Upstream({ upstream }: { upstream: UpstreamOverview }) {
  const { provider, server, breaker, workers_open: open, workers, metrics_fault: fault, models } = upstream;
  const { missing_variable: variable } = upstream;
  return (
    <li className={classes['upstream']}>
      <div className={classes['upstreamHead']}>
        <span className={classes['host']}>{provider}</span>
        {server !== undefined && <span className={classes['detail']}>{server}</span>}
        <StateBadge words={breakers[breaker]} />
        {open > 0 && (
          <span className={classes['detail']}>
            for {formatCount(open)} of {formatCount(workers)} workers
          </span>
        )}
      </div>
      <ul className={classes['upstreamModels']}>
        {models.map((model) => (
          <UpstreamModel key={model.model} {...model} />
        ))}
      </ul>
      {variable !== undefined && (
        <p className={classes['fault']}>A worker lacks the variable {variable}, so its calls fail there</p>
      )}
      {fault !== null && <p className={classes['fault']}>{fault}</p>}
    </li>
  );
}

function UpstreamModel(given: UpstreamOverview['models'][number]) {
  const { model, in_flight: inFlight, limit, waiting, parked_ms: parkedMs, calls_per_second: rate } = given;
  return (
    <li className={classes['upstreamModel']}>
      <span title={model}>{model}</span>
      <span>
        {formatCount(inFlight)}
        {limit !== null && ` of ${formatCount(limit)}`} in flight
      </span>
      {waiting > 0 && <span>{formatCount(waiting)} in line</span>}
      {rate !== null && <span title="As often as it takes calls at present">at most {formatRate(rate)}</span>}
      {parkedMs > 0 && <ToneBadge tone="warn">Parked for {formatDuration(parkedMs)}</ToneBadge>}
    </li>
  );
}
