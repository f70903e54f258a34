import type { Column } from '../../components/data-table.tsx';
import { formatCompact, formatCount, formatMoney } from '../../format/numbers.ts';
import { formatDuration } from '../../format/times.ts';
import type { UsageRow } from './usage-rows.ts';

/** The columns of what groups took; `header` is what they are. */
export function usageColumns(header: string, currency: string | undefined): readonly Column<UsageRow>[] {
  return [
    {
      key: 'name',
      header,
      width: 'minmax(7rem, 2fr)',
      cell: ({ name }) => <bdi title={name}>{name === '' ? 'unknown' : name}</bdi>,
    },
    figure('responses', 'Responses', ({ responses }) => formatCount(responses)),
    figure('failed', 'Failed', ({ failed }) => formatCount(failed), 'md'),
    figure('input', 'Input', ({ input }) => formatCompact(input), 'md'),
    figure('cached', 'Cached', ({ cached }) => formatCompact(cached), 'lg'),
    figure('output', 'Output', ({ output }) => formatCompact(output), 'md'),
    figure('slots', 'Slot time', ({ slotSeconds }) => formatDuration(slotSeconds * 1_000), 'lg'),
    figure('spend', currency ?? 'Spend', ({ spend }) => formatMoney(spend)),
  ];
}

function figure(
  key: string,
  header: string,
  cell: (row: UsageRow) => string,
  hideBelow?: Column<UsageRow>['hideBelow'],
): Column<UsageRow> {
  return { key, header, width: '6.5rem', align: 'end', cell, ...(hideBelow && { hideBelow }) };
}
