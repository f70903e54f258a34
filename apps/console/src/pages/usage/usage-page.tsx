import { SegmentedControl } from '@mantine/core';
import type { UsagePage as Usage } from '@sluice/contract';
import { useQuery } from '@tanstack/react-query';
import { DataTable } from '../../components/data-table.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { EmptyState } from '../../components/states.tsx';
import { TimeSeriesChart } from '../../components/time-series-chart.tsx';
import { type Filters, useFilters } from '../../components/use-filters.ts';
import { formatCompact, formatCount, formatMoney } from '../../format/numbers.ts';
import { StatRow, StatTile } from '../../components/stat-tile.tsx';
import { usageColumns } from './usage-columns.tsx';
import { readUsage } from './read-usage.ts';
import { currencyOf, groups, measures, ranges, usageLines, usageRows } from './usage-rows.ts';
import classes from './usage.module.css';

const filterKeys = ['range', 'by', 'show'] as const;

/** How often it is read again, in milliseconds. */
const everyMs = 30_000;

/** The usage of responses, by model, tenant, key or tier, over time. */
export function UsagePage() {
  const filters = useFilters(filterKeys);
  const [range, rangeControl] = choiceOf(filters, 'range', {
    label: 'How far back',
    options: ranges,
    usual: ranges[1],
  });
  const [group, groupControl] = choiceOf(filters, 'by', { label: 'By', options: groups, usual: groups[0] });
  const [measure, measureControl] = choiceOf(filters, 'show', {
    label: 'Show',
    options: measures,
    usual: measures[0],
  });
  const query = useQuery({
    queryKey: ['/usage/completions', { range: range.value, by: group.value }],
    queryFn: ({ signal }) => {
      const start_time = Math.floor(Date.now() / 1_000) - range.seconds;
      const { width: bucket_width, limit } = range;
      return readUsage({ start_time, bucket_width, limit, group_by: [group.value] }, signal);
    },
    refetchInterval: everyMs,
  });
  return (
    <>
      <PageHeader title="Usage" description="What responses took, by the time of their ends, in UTC." />
      <div className={classes['choices']}>
        {rangeControl}
        {groupControl}
        {measureControl}
      </div>
      <QueryView query={query}>
        {(usage) => (
          <Shown
            usage={usage}
            group={group}
            measure={measure}
            per={range.width === '1h' ? 'per hour' : 'per day'}
          />
        )}
      </QueryView>
    </>
  );
}

interface ShownProps {
  usage: Usage;
  group: (typeof groups)[number];
  measure: (typeof measures)[number];
  /** The step of the chart. */
  per: string;
}

/** The figures, the chart and the table. */
function Shown({ usage, group, measure, per }: ShownProps) {
  const rows = usageRows(usage, group.value);
  const currency = currencyOf(usage);
  const format = measure.value === 'spend' ? formatMoney : formatCompact;
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((all, row) => all + of(row), 0);
  return (
    <div className={classes['parts']}>
      <StatRow>
        <StatTile label="Responses" value={formatCount(sum(({ responses }) => responses))} />
        <StatTile label="Input tokens" value={formatCompact(sum(({ input }) => input))} />
        <StatTile label="Output tokens" value={formatCompact(sum(({ output }) => output))} />
        <StatTile
          label={currency === undefined ? 'Spend' : `Spend in ${currency}`}
          value={formatMoney(sum(({ spend }) => spend))}
        />
      </StatRow>
      <Panel title={`${measure.label} by ${group.label.toLowerCase()}`} note={`${per}, in UTC`}>
        <TimeSeriesChart
          title={`${measure.label} by ${group.label.toLowerCase()}`}
          hidesTitle
          kind="bars"
          stacked
          height={220}
          times={usage.data.map(({ start_time: start }) => start * 1_000)}
          timeZone="UTC"
          series={usageLines(usage, { group: group.value, rows, of: measure.of })}
          format={format}
        />
      </Panel>
      <Panel padded={false}>
        <DataTable
          label="Usage"
          columns={usageColumns(group.label, currency)}
          rows={rows}
          rowKey={({ name }) => name}
          empty={
            <EmptyState title="Nothing has ended in this time">A response counts when it ends.</EmptyState>
          }
        />
      </Panel>
    </div>
  );
}

interface Choice<Option> {
  label: string;
  options: readonly Option[];
  usual: Option;
}

/** The option that the address names, or the usual one, and the control that chooses one. */
function choiceOf<Option extends { readonly value: string; readonly label: string }>(
  filters: Filters,
  name: string,
  { label, options, usual }: Choice<Option>,
) {
  const chosen = options.find(({ value }) => value === filters.text(name)) ?? usual;
  const control = (
    <SegmentedControl
      aria-label={label}
      data={options.map(({ value, label: word }) => ({ value, label: word }))}
      value={chosen.value}
      onChange={(value) => filters.set(name, value === usual.value ? [] : [value])}
    />
  );
  return [chosen, control] as const;
}
