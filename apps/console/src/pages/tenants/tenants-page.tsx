import { NativeSelect } from '@mantine/core';
import type { TenantList, TenantReportRow } from '@sluice/contract/admin';
import { useQuery } from '@tanstack/react-query';
import { adminQuery } from '../../api/query-client.ts';
import { useOffsetPages } from '../../api/use-offset-pages.ts';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { formatCount } from '../../format/numbers.ts';
import { tenantColumns } from './tenant-columns.tsx';
import { TenantDrawer } from './tenant-drawer.tsx';
import { orderOf, orders, tenantRows } from './tenant-rows.ts';

const filterKeys = ['q'] as const;
const viewKeys = ['order', 'tenant'] as const;
const refreshMs = 5_000;
const orderOptions = Object.entries(orders).map(([value, { word }]) => ({ value, label: word }));

/** Every tenant with its share of the work, its limits and their use. */
export function TenantsPage() {
  const filters = useFilters(filterKeys);
  const q = filters.text('q');
  const {
    query,
    rows: loaded,
    more,
    hasMore,
  } = useOffsetPages('/tenants', {
    search: { q: q === '' ? undefined : q },
    refreshMs,
    keyOf: nameOf,
  });
  const view = useFilters(viewKeys);
  const order = orderOf(view.text('order'));
  const opened = view.text('tenant');
  const open = (tenant: string) => view.set('tenant', [tenant]);
  const shown = useTenant(opened, loaded);
  return (
    <>
      <PageHeader
        title="Tenants"
        description="Shares are of the output tokens of the last five minutes; the mark on a bar is the fair share."
      />
      <QueryView query={query}>
        {() => {
          const rows = tenantRows(loaded, order);
          return (
            <>
              <FilterBar
                filters={filters}
                fields={[]}
                end={`${formatCount(rows.length)}${hasMore ? ' of more' : ''} ${rows.length === 1 ? 'tenant' : 'tenants'}`}
              >
                <SearchBox label="Search tenants" value={q} onChange={(text) => filters.type({ q: text })} />
                <NativeSelect
                  aria-label="Order"
                  data={orderOptions}
                  value={order}
                  onChange={(event) => view.set('order', [event.currentTarget.value])}
                />
              </FilterBar>
              <Panel padded={false}>
                <DataTable
                  label="Tenants"
                  columns={tenantColumns}
                  rows={rows}
                  rowKey={({ tenant }) => tenant}
                  rowHeight={56}
                  onOpen={({ tenant }) => open(tenant)}
                  onEnd={more}
                  isSelected={({ tenant }) => tenant === opened}
                  empty={
                    <EmptyState title={q === '' ? 'There are no tenants' : 'No tenant matches'}>
                      {q === ''
                        ? 'Without keys, all callers are one tenant and may use every model. Create a key to tell tenants apart.'
                        : 'Search for another name, or clear the search.'}
                    </EmptyState>
                  }
                />
              </Panel>
              <TenantDrawer name={opened} tenant={shown} onClose={() => view.set('tenant', [])} />
            </>
          );
        }}
      </QueryView>
    </>
  );
}

const nameOf = ({ tenant }: TenantReportRow) => tenant;

/** The tenant of a name, which may be on a page that was not read; undefined while it is not known. */
function useTenant(name: string, loaded: readonly TenantReportRow[]): TenantReportRow | undefined {
  const found = loaded.find(({ tenant }) => tenant === name);
  const { data } = useQuery({
    ...adminQuery<TenantList>('/tenants', { q: name, limit: 200 }),
    enabled: name !== '' && found === undefined,
  });
  return found ?? data?.data.find(({ tenant }) => tenant === name);
}
