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
  const { tenant, state } = filters.values;
  const query = useQuery({
    ...adminQuery<DeliveryList>(path, { tenant, state, limit: 500 }),
    refetchInterval: refreshMs,
    // The filters stay while what they ask for is read.
    placeholderData: (before) => before,
  });
  // What is shown has the chosen tenants alone; those that were read with other filters can be chosen as well.
  const read = client.getQueriesData<DeliveryList>({ queryKey: [path] });
  const tenants = new Set(read.flatMap(([, list]) => list?.data.map((delivery) => delivery.tenant) ?? []));
  const tenantOptions = [...tenants].toSorted().map((value) => ({ value }));
  const send = async ({ id, tenant: told }: DeliveryRow) => {
    try {
      await act<SentDelivery>('POST', `${path}/${encodeURIComponent(id)}/send`);
      notifyDone(`A worker sends the event to ${told} again.`);
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
        {({ data }) => (
          <>
            <FilterBar
              filters={filters}
              fields={[
                { key: 'tenant', label: 'Tenant', options: tenantOptions, allowsOther: true },
                { key: 'state', label: 'State', options: stateOptions },
              ]}
              end={`${formatCount(data.length)} ${data.length === 1 ? 'delivery' : 'deliveries'}`}
            />
            <Panel padded={false}>
              <DataTable
                label="Deliveries"
                columns={columns}
                rows={data}
                rowKey={({ id }) => id}
                empty={
                  <EmptyState title={filters.count === 0 ? 'Nothing was sent yet' : 'Nothing matches'}>
                    {filters.count === 0
                      ? 'Tenants make endpoints with the API; each event that they ask for is a delivery.'
                      : 'Change the filters, or clear them. The last thousand deliveries of each state are looked at.'}
                  </EmptyState>
                }
              />
            </Panel>
          </>
        )}
      </QueryView>
    </>
  );
}
