import type { Overview } from '@sluice/contract/admin';
import { Sparkline } from '../../components/sparkline.tsx';
import { StatRow, StatTile } from '../../components/stat-tile.tsx';
import {
  countOf,
  formatCompact,
  formatCount,
  formatRate,
  formatShare,
  unknown,
} from '../../format/numbers.ts';
import { formatDuration } from '../../format/times.ts';
import { hasStatistics } from './attention.ts';
import { byMinute, errorRate, latestFirstToken, queueSums, recentOf } from './figures.ts';

const nowMs = 60_000;
const fiveMinutesMs = 300_000;

/** The figures of this moment. Without statistics those of the queues alone are known. */
export function StatTiles({ overview }: { overview: Overview }) {
  return (
    <StatRow>
      {hasStatistics(overview) ? <AllTiles overview={overview} /> : <WaitingTile overview={overview} />}
    </StatRow>
  );
}

function AllTiles({ overview }: { overview: Overview }) {
  const { active, capacity } = queueSums(overview.queues);
  const now = recentOf(overview, nowMs);
  const lately = recentOf(overview, fiveMinutesMs);
  const errors = lately === undefined ? null : errorRate(lately);
  const firstToken = latestFirstToken(overview, fiveMinutesMs);
  const minutes = byMinute(overview.buckets);
  const isFull = capacity > 0 && active >= capacity;
  return (
    <>
      <StatTile
        label="Accepted"
        value={formatRate(now?.rate('accepted'))}
        hint={`${formatCompact(overview.hour.accepted)} in the last hour`}
        chart={<Sparkline values={minutes.map(({ accepted }) => accepted)} />}
      />
      <StatTile
        label="Running"
        value={`${formatCount(active)} of ${formatCount(capacity)}`}
        hint={isFull ? 'every slot is taken' : `${countOf(Math.max(0, capacity - active), 'slot')} free`}
      />
      <WaitingTile overview={overview} />
      <StatTile
        label="First token"
        value={formatDuration(firstToken?.p50)}
        hint={firstToken === undefined ? 'no stream lately' : `median, p99 ${formatDuration(firstToken.p99)}`}
        chart={
          <Sparkline
            values={overview.buckets.map((bucket) => bucket.first_token_p50_ms)}
            color="var(--chart-2)"
          />
        }
      />
      <StatTile
        label="Failed"
        value={formatShare(errors)}
        tone={errors === null || errors < 0.05 ? 'plain' : errors < 0.2 ? 'warn' : 'bad'}
        hint={lately === undefined ? unknown : `${formatCount(lately.sum('failed'))} in 5 minutes`}
        chart={<Sparkline values={minutes.map(({ failed }) => failed)} color="var(--chart-5)" />}
      />
      <StatTile
        label="Output tokens"
        value={formatRate(now?.rate('output_tokens'))}
        hint={`${formatRate(now?.rate('input_tokens'))} in`}
        chart={<Sparkline values={minutes.map((minute) => minute.output_tokens)} color="var(--chart-4)" />}
      />
    </>
  );
}

function WaitingTile({ overview }: { overview: Overview }) {
  const { waiting, oldestWaitMs } = queueSums(overview.queues);
  const isLong = oldestWaitMs !== null && oldestWaitMs >= nowMs;
  return (
    <StatTile
      label="Waiting"
      value={formatCompact(waiting)}
      tone={isLong ? 'warn' : 'plain'}
      hint={oldestWaitMs === null ? 'nothing waits' : `the oldest for ${formatDuration(oldestWaitMs)}`}
    />
  );
}
