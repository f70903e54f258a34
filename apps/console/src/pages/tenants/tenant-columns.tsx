import type { TenantReportRow } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import type { Column } from '../../components/data-table.tsx';
import { Meter, toneOfUse } from '../../components/meter.tsx';
import { formatCompact, formatCount, formatShare } from '../../format/numbers.ts';
import { shareWords } from './tenant-rows.ts';
import classes from './tenants.module.css';

export const tenantColumns: readonly Column<TenantReportRow>[] = [
  {
    key: 'tenant',
    header: 'Tenant',
    width: 'minmax(7rem, 2fr)',
    cell: ({ tenant }) => (
      <Link
        className={classes['link']}
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
  {
    key: 'running',
    header: 'Running',
    width: '6rem',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ use, limits }) => <Used label="Running" used={use.running} max={limits.concurrent} />,
  },
  {
    key: 'waiting',
    header: 'Waiting',
    width: '6rem',
    align: 'end',
    cell: ({ use, limits }) => <Used label="Waiting" used={use.waiting} max={limits.queued} />,
  },
  {
    key: 'in_line',
    header: 'In line',
    width: '5rem',
    align: 'end',
    hideBelow: 'lg',
    cell: ({ use }) => <span title="Held back until one of its own ends">{formatCount(use.in_line)}</span>,
  },
  {
    key: 'requests',
    header: 'Requests/min',
    width: '7rem',
    align: 'end',
    hideBelow: 'md',
    cell: ({ use, limits }) => (
      <Used label="Requests in a minute" used={use.requests_in_minute} max={limits.requests_per_minute} />
    ),
  },
  {
    key: 'tokens',
    header: 'Tokens/min',
    width: '7.5rem',
    align: 'end',
    hideBelow: 'lg',
    cell: ({ use, limits }) => (
      <Used label="Tokens in a minute" used={use.tokens_in_minute} max={limits.tokens_per_minute} />
    ),
  },
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

/** What is used of a limit; a dash when there is no limit and nobody counts. */
function Used({ label, used, max }: { label: string; used: number | null; max: number | null }) {
  if (max === null || used === null) return formatCompact(used);
  const text = `${formatCompact(used)} of ${formatCompact(max)}`;
  return (
    <span className={classes['used']} title={`${formatCount(used)} of ${formatCount(max)}`}>
      <span>
        {formatCompact(used)}
        <span className={classes['of']}> / {formatCompact(max)}</span>
      </span>
      <Meter label={label} value={used} max={max} text={text} tone={toneOfUse(used, max)} />
    </span>
  );
}
