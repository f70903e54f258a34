import type { TenantReportRow } from '@sluice/contract/admin';
import { type CountedLimit, tenantLimits } from '@sluice/contract/tenant-limits';
import { Link } from '@tanstack/react-router';
import cellLink from '../../components/cell-link.module.css';
import type { Column } from '../../components/data-table.tsx';
import { Meter, toneOfUse } from '../../components/meter.tsx';
import { formatCompact, formatCount, formatShare } from '../../format/numbers.ts';
import { measured, type MeasuredLimit, shareWords } from './tenant-rows.ts';
import classes from './tenants.module.css';

export const tenantColumns: readonly Column<TenantReportRow>[] = [
  {
    key: 'tenant',
    header: 'Tenant',
    width: 'minmax(7rem, 2fr)',
    cell: ({ tenant }) => (
      <Link
        className={cellLink['name']}
        to="."
        search={(before) => ({ ...before, tenant: [tenant] })}
        title={tenant}
      >
        <bdi>{tenant}</bdi>
      </Link>
    ),
  },
  {
    key: 'weight',
    header: 'Weight',
    width: '4.5rem',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ weight }) => formatCount(weight),
  },
  { key: 'share', header: 'Share', width: 'minmax(7rem, 1.3fr)', cell: (row) => <Share row={row} /> },
  used('concurrent', { width: '6rem', hideBelow: 'sm' }),
  used('queued', { width: '6rem' }),
  {
    key: 'in_line',
    header: 'In line',
    width: '5rem',
    align: 'end',
    hideBelow: 'lg',
    cell: ({ use }) => <span title="Held back until one of its own ends">{formatCount(use.in_line)}</span>,
  },
  used('requestsPerMinute', { width: '7rem', hideBelow: 'md' }),
  used('tokensPerMinute', { width: '7.5rem', hideBelow: 'lg' }),
];

export function Share({ row: { tenant, share, fair_share: fair } }: { row: TenantReportRow }) {
  const words = shareWords(share, fair);
  const text = share === null ? 'none' : `${formatShare(share)}, fair ${formatShare(fair)}`;
  return (
    <span className={classes['share']} title={words}>
      <span className={classes['figure']}>
        {formatShare(share)}
        {fair !== null && <span className={classes['of']}> / {formatShare(fair)}</span>}
      </span>
      <Meter label={`Share of ${tenant}`} value={share ?? 0} max={1} marker={fair ?? undefined} text={text} />
    </span>
  );
}

/** A column with the use of a limit. */
function used(
  name: CountedLimit,
  layout: Pick<Column<TenantReportRow>, 'width' | 'hideBelow'>,
): Column<TenantReportRow> {
  return {
    key: tenantLimits[name].wire,
    header: tenantLimits[name].short,
    align: 'end',
    ...layout,
    cell: (row) => <Used limit={measured(name, row)} />,
  };
}

/** The use of a limit; a dash when there is no limit and nobody counts. */
function Used({ limit: { label, used: count, max } }: { limit: MeasuredLimit }) {
  if (max === null || count === null) return formatCompact(count);
  const text = `${formatCompact(count)} of ${formatCompact(max)}`;
  return (
    <span className={classes['used']} title={`${formatCount(count)} of ${formatCount(max)}`}>
      <span>
        {formatCompact(count)}
        <span className={classes['of']}> / {formatCompact(max)}</span>
      </span>
      <Meter label={label} value={count} max={max} text={text} tone={toneOfUse(count, max)} />
    </span>
  );
}
