import type { Overview } from '@sluice/contract/admin';
import { Meter } from '../../components/meter.tsx';
import { Panel } from '../../components/panel.tsx';
import { formatBytes, formatShare } from '../../format/numbers.ts';
import classes from './overview.module.css';

/** The memory of Redis against its limit, and where new work is refused. */
export function RedisPanel({ redis }: { redis: Overview['redis'] }) {
  const { used_bytes: used, limit_bytes: limit, used_percent: percent, refuses_at_percent: mark } = redis;
  const tone = percent === null || percent < mark - 10 ? 'plain' : percent < mark ? 'warn' : 'bad';
  return (
    <div className={classes['anchor']} id="redis">
      <Panel title="Redis" note={`version ${redis.version}`}>
        <div className={classes['memory']}>
          <p>
            <span className={classes['figure']}>{formatBytes(used)}</span>
            {limit !== null && <span className={classes['quiet']}> of {formatBytes(limit)}</span>}
          </p>
          {percent !== null && (
            <Meter
              label="Memory of Redis"
              value={percent}
              max={100}
              marker={mark}
              text={formatShare(percent / 100)}
              tone={tone}
            />
          )}
          <p className={classes['quiet']}>
            {percent === null
              ? 'It has no limit of its own, and the memory of its machine is not known.'
              : `${formatShare(percent / 100)} used. New work is refused past ${formatShare(mark / 100)}, the mark on the bar.`}
          </p>
          {!redis.is_persistent && (
            <p className={classes['warn']}>It writes nothing to disk: its data is lost when it restarts.</p>
          )}
        </div>
      </Panel>
    </div>
  );
}
