import { NativeSelect } from '@mantine/core';
import type { TenantList } from '@sluice/contract/admin';
import { useQuery } from '@tanstack/react-query';
import { adminQuery } from '../../api/query-client.ts';
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

/** Every tenant with its share of the work, its limits, and what it uses of them. */
export function TenantsPage() {
  const query = useQuery({ ...adminQuery<TenantList>('/tenants'), refetchInterval: refreshMs });
  const filters = useFilters(filterKeys);
  const view = useFilters(viewKeys);
  const order = orderOf(view.text('order'));
  const opened = view.text('tenant');
  const open = (tenant: string) => view.set('tenant', [tenant]);
  return (
    <>
      <PageHeader
        title="Tenants"
        description="Shares are of the output tokens of the last five minutes; the mark on a bar is the fair share."
      />
      <QueryView query={query}>
        {({ data }) => {
          const rows = tenantRows(data, filters.text('q'), order);
          return (
            <>
              <FilterBar
                filters={filters}
                fields={[]}
                end={`${formatCount(rows.length)} ${rows.length === 1 ? 'tenant' : 'tenants'}`}
              >
                <SearchBox
                  label="Search tenants"
                  value={filters.text('q')}
                  onChange={(q) => filters.type({ q })}
                />
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
                  isSelected={({ tenant }) => tenant === opened}
                  empty={
                    <EmptyState title={data.length === 0 ? 'There are no tenants' : 'No tenant matches'}>
                      {data.length === 0
                        ? 'Without keys everybody may ask for everything, as one. Create a key to tell tenants apart.'
                        : 'Search for another name, or clear the search.'}
                    </EmptyState>
                  }
                />
              </Panel>
              <TenantDrawer
                name={opened}
                tenant={data.find(({ tenant }) => tenant === opened)}
                onClose={() => view.set('tenant', [])}
              />
            </>
          );
        }}
      </QueryView>
    </>
  );
}
