import { SegmentedControl } from '@mantine/core';
import type { Bucket, History, Overview } from '@sluice/contract/admin';
import { useQuery } from '@tanstack/react-query';
import { adminQuery } from '../../api/query-client.ts';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { TimeSeriesChart } from '../../components/time-series-chart.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { formatCompact, formatCount } from '../../format/numbers.ts';
import { formatDuration } from '../../format/times.ts';
import { byMinute, fitting } from './figures.ts';
import classes from './overview.module.css';

const syncKey = 'overview';
const quarterMs = 15 * 60_000;

const ranges = [
  { value: '15m', label: '15 minutes' },
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week' },
];
const rangeKeys = ['range'] as const;

/** The outcomes of responses, their times and their tokens, over the chosen span. */
export function OverviewCharts({ overview }: { overview: Overview }) {
  const filters = useFilters(rangeKeys);
  const range = filters.text('range') || 'hour';
  const choose = (value: string) => filters.set('range', value === 'hour' ? [] : [value]);
  const { at } = overview;
  const buckets =
    range === '15m' ? overview.buckets.filter((bucket) => bucket.at > at - quarterMs) : overview.buckets;
  return (
    <section aria-label="Charts">
      <SegmentedControl
        className={classes['ranges'] ?? ''}
        aria-label="How far back"
        data={ranges}
        value={range}
        onChange={choose}
      />
      {range === 'day' || range === 'week' ? (
        <HistoryCharts span={range} />
      ) : (
        <Charts fine={fitting(buckets)} coarse={byMinute(fitting(buckets))} per="per minute" />
      )}
    </section>
  );
}

/** How often the history is read again, in milliseconds. */
const historyEveryMs = 30_000;

/** Buckets that are shown at least: an hour, and a day. */
const leastOf = { day: 12, week: 24 };

function HistoryCharts({ span }: { span: 'day' | 'week' }) {
  const query = useQuery({
    ...adminQuery<History>('/overview/history', { span }),
    refetchInterval: historyEveryMs,
  });
  const per = span === 'day' ? 'per five minutes' : 'per hour';
  return (
    <QueryView query={query}>
      {({ buckets }) => {
        const shown = fitting(buckets, leastOf[span]);
        return <Charts fine={shown} coarse={shown} per={per} />;
      }}
    </QueryView>
  );
}

interface ChartsProps {
  /** For times. */
  fine: readonly Bucket[];
  /** For counts. */
  coarse: readonly Omit<Bucket, `${string}_ms`>[];
  per: string;
}

function Charts({ fine, coarse, per }: ChartsProps) {
  const coarseTimes = coarse.map(({ at }) => at);
  const of = (key: Exclude<keyof (typeof coarse)[number], 'at'>) => coarse.map((each) => each[key]);
  return (
    <div className={classes['charts']}>
      <Panel title="Responses" note={per}>
        <TimeSeriesChart
          title={`Responses ${per} by outcome`}
          hidesTitle
          times={coarseTimes}
          kind="bars"
          stacked
          syncKey={syncKey}
          format={formatCount}
          series={[
            { label: 'Completed', values: of('completed'), color: '--chart-1' },
            { label: 'Incomplete', values: of('incomplete'), color: '--chart-3' },
            { label: 'Cancelled', values: of('cancelled'), color: '--chart-8' },
            { label: 'Refused', values: of('refused'), color: '--chart-4' },
            { label: 'Failed', values: of('failed'), color: '--chart-5' },
          ]}
        />
      </Panel>
      <Times title="Time to first token" of="first_token" buckets={fine} />
      <Times title="Wait in the queue" of="wait" buckets={fine} />
      <Times title="Duration" note="from the first attempt" of="run" buckets={fine} />
      <Panel title="Tokens" note={per}>
        <TimeSeriesChart
          title={`Tokens ${per}`}
          hidesTitle
          times={coarseTimes}
          kind="bars"
          stacked
          syncKey={syncKey}
          format={formatCompact}
          series={[
            { label: 'Input', values: of('input_tokens'), color: '--chart-2' },
            { label: 'Output', values: of('output_tokens'), color: '--chart-4' },
          ]}
        />
      </Panel>
    </div>
  );
}

interface TimesProps {
  title: string;
  note?: string;
  of: 'first_token' | 'wait' | 'run';
  buckets: readonly Bucket[];
}

function Times({ title, note, of, buckets }: TimesProps) {
  return (
    <Panel title={title} {...(note !== undefined && { note })}>
      <TimeSeriesChart
        title={title}
        hidesTitle
        times={buckets.map(({ at }) => at)}
        kind="line"
        syncKey={syncKey}
        format={formatDuration}
        series={[
          { label: 'p99', values: buckets.map((each) => each[`${of}_p99_ms`]), color: '--chart-3' },
          { label: 'p50', values: buckets.map((each) => each[`${of}_p50_ms`]), color: '--chart-2' },
        ]}
      />
    </Panel>
  );
}
