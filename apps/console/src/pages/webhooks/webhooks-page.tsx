import type { DeliveryList, DeliveryRow, SentDelivery } from '@sluice/contract/admin';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { adminQuery } from '../../api/query-client.ts';
import { act } from '../../api/request.ts';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { notifyDone, notifyFailed } from '../../components/notify.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { formatCount } from '../../format/numbers.ts';
import { deliveryColumns, states } from './delivery-columns.tsx';

const filterKeys = ['tenant', 'state'] as const;
const refreshMs = 3_000;
const path = '/webhooks/deliveries';

const stateOptions = Object.entries(states).map(([value, [, label]]) => ({ value, label }));

/** The deliveries of webhooks: what was told to whom, what came of it, and sending one again. */
export function WebhooksPage() {
  const filters = useFilters(filterKeys);
  const client = useQueryClient();
  const unlocked = useUnlocked();
  const { tenant: tenants, state } = filters.values;
  const query = useQuery({
    ...adminQuery<DeliveryList>(path, { state, limit: 500 }),
    refetchInterval: refreshMs,
  });
  const send = async ({ id, tenant }: DeliveryRow) => {
    try {
      await act<SentDelivery>('POST', `${path}/${encodeURIComponent(id)}/send`);
      notifyDone(`A worker sends the event to ${tenant} again.`);
      await client.invalidateQueries({ queryKey: [path] });
    } catch (error) {
      notifyFailed('The event was not sent again', error);
    }
  };
  const columns = deliveryColumns((delivery) => unlocked(() => void send(delivery)));
  return (
    <>
      <PageHeader
        title="Webhooks"
        description="What endpoints were told. A delivery is kept for a week behind its end, without any content."
      />
      <QueryView query={query}>
        {({ data }) => {
          const found = data.filter(({ tenant }) => tenants === undefined || tenants.includes(tenant));
          const tenantOptions = [...new Set(data.map(({ tenant }) => tenant))].map((value) => ({ value }));
          return (
            <>
              <FilterBar
                filters={filters}
                fields={[
                  { key: 'tenant', label: 'Tenant', options: tenantOptions },
                  { key: 'state', label: 'State', options: stateOptions },
                ]}
                end={`${formatCount(found.length)} ${found.length === 1 ? 'delivery' : 'deliveries'}`}
              />
              <Panel padded={false}>
                <DataTable
                  label="Deliveries"
                  columns={columns}
                  rows={found}
                  rowKey={({ id }) => id}
                  empty={
                    <EmptyState title={data.length === 0 ? 'Nothing was sent yet' : 'Nothing matches'}>
                      {data.length === 0
                        ? 'Tenants make endpoints with the API; each event that they ask for is a delivery.'
                        : 'Change the filters, or clear them.'}
                    </EmptyState>
                  }
                />
              </Panel>
            </>
          );
        }}
      </QueryView>
    </>
  );
}
