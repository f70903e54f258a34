import type { Overview } from '@sluice/contract/admin';
import { Panel } from '../../components/panel.tsx';
import { TimeSeriesChart } from '../../components/time-series-chart.tsx';
import { formatCompact, formatCount } from '../../format/numbers.ts';
import { formatDuration } from '../../format/times.ts';
import { byMinute } from './figures.ts';
import classes from './overview.module.css';

const syncKey = 'overview';

/** The last hour: what became of responses, how soon the first token came, and tokens. */
export function HourCharts({ overview }: { overview: Overview }) {
  const minutes = byMinute(overview.buckets);
  const minuteTimes = minutes.map(({ at }) => at);
  const of = (key: Exclude<keyof (typeof minutes)[number], 'at'>) => minutes.map((minute) => minute[key]);
  return (
    <div className={classes['charts']}>
      <Panel title="Responses" note="per minute">
        <TimeSeriesChart
          title="Responses per minute by what became of them"
          hidesTitle
          times={minuteTimes}
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
      <Panel title="Time to first token">
        <TimeSeriesChart
          title="Time to first token"
          hidesTitle
          times={overview.buckets.map(({ at }) => at)}
          kind="line"
          syncKey={syncKey}
          format={formatDuration}
          series={[
            {
              label: 'p99',
              values: overview.buckets.map((each) => each.first_token_p99_ms),
              color: '--chart-3',
            },
            {
              label: 'p50',
              values: overview.buckets.map((each) => each.first_token_p50_ms),
              color: '--chart-2',
            },
          ]}
        />
      </Panel>
      <Panel title="Tokens" note="per minute">
        <TimeSeriesChart
          title="Tokens per minute"
          hidesTitle
          times={minuteTimes}
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
