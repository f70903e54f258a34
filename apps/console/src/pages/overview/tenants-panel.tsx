import type { Overview } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import { Panel } from '../../components/panel.tsx';
import { type SmallColumn, SmallTable } from '../../components/small-table.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatCompact } from '../../format/numbers.ts';
import { FailedCount } from './failed-count.tsx';
import classes from './overview.module.css';

type TenantUse = Overview['tenants'][number];

const columns: readonly SmallColumn<TenantUse>[] = [
  {
    key: 'tenant',
    header: 'Tenant',
    grows: true,
    cell: ({ tenant }) => (
      <Link className={classes['link']} to="/tenants" search={{ tenant: [tenant] }} title={tenant}>
        <bdi>{tenant}</bdi>
      </Link>
    ),
  },
  { key: 'accepted', header: 'Accepted', align: 'end', cell: ({ accepted }) => formatCompact(accepted) },
  {
    key: 'failed',
    header: 'Failed',
    align: 'end',
    cell: ({ failed, accepted }) => (
      <FailedCount
        failed={failed}
        share={accepted === 0 ? null : failed / accepted}
        text={formatCompact(failed)}
      />
    ),
  },
  {
    key: 'refused',
    header: 'Refused',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ refused }) => formatCompact(refused),
  },
  {
    key: 'input',
    header: 'Tokens in',
    align: 'end',
    hideBelow: 'md',
    cell: ({ input_tokens: tokens }) => formatCompact(tokens),
  },
  {
    key: 'output',
    header: 'Tokens out',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ output_tokens: tokens }) => formatCompact(tokens),
  },
];

export function TenantsPanel({ overview }: { overview: Overview }) {
  return (
    <Panel
      title="Busiest tenants"
      note="of the last hour"
      padded={false}
      actions={
        <Link className={classes['link']} to="/tenants">
          All tenants
        </Link>
      }
    >
      {overview.tenants.length === 0 ? (
        <EmptyState title="No tenant asked for anything" />
      ) : (
        <SmallTable
          label="Busiest tenants"
          columns={columns}
          rows={overview.tenants}
          rowKey={({ tenant }) => tenant}
        />
      )}
    </Panel>
  );
}
