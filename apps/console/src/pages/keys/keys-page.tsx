import { Button } from '@mantine/core';
import type { KeyList, KeyReport } from '@sluice/contract/admin';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { adminQuery } from '../../api/query-client.ts';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { formatCount } from '../../format/numbers.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { keyColumns } from './key-columns.tsx';
import { keyOptions, keyRows } from './key-rows.ts';
import { RevokeDialog } from './revoke-dialog.tsx';

const filterKeys = ['q', 'tenant', 'state'] as const;
const refreshMs = 10_000;

/** Every API key: those of the settings file, and those that are stored, which can be created and revoked here. */
export function KeysPage() {
  const query = useQuery({ ...adminQuery<KeyList>('/keys'), refetchInterval: refreshMs });
  const filters = useFilters(filterKeys);
  const unlocked = useUnlocked();
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<KeyReport>();
  const columns = keyColumns((key) => unlocked(() => setRevoking(key)));
  const all = query.data?.data;
  const tenants = useMemo(() => keyOptions(all ?? [], 'tenant'), [all]);
  const named = filters.values['tenant'] ?? [];
  const create = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => unlocked(() => setCreating(true))}>
      Create a key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Keys"
        description="A key is shown once, when it is made, and kept as a hash."
        actions={create}
      />
      <QueryView query={query}>
        {({ data }) => {
          const rows = keyRows(data, filters.values);
          return (
            <>
              <FilterBar
                filters={filters}
                fields={[
                  { key: 'tenant', label: 'Tenant', options: tenants },
                  { key: 'state', label: 'State', options: keyOptions(data, 'state') },
                ]}
                end={`${formatCount(rows.length)} ${rows.length === 1 ? 'key' : 'keys'}`}
              >
                <SearchBox
                  label="Search keys"
                  placeholder="Tenant, id or last characters"
                  value={filters.text('q')}
                  onChange={(q) => filters.type({ q })}
                />
              </FilterBar>
              <Panel padded={false}>
                <DataTable
                  label="Keys"
                  columns={columns}
                  rows={rows}
                  rowKey={(key) => key.id ?? `file:${key.tenant}:${data.indexOf(key)}`}
                  empty={
                    data.length === 0 ? (
                      <EmptyState title="There are no keys" action={create}>
                        Whether requests need one is decided by the setting <code>keys</code>.
                      </EmptyState>
                    ) : (
                      <EmptyState title="No key matches">Change the filters, or clear them.</EmptyState>
                    )
                  }
                />
              </Panel>
            </>
          );
        }}
      </QueryView>
      <CreateKeyDialog
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        tenant={named.length === 1 ? (named[0] ?? '') : ''}
        tenants={tenants.map(({ value }) => value)}
      />
      <RevokeDialog shown={revoking} onClose={() => setRevoking(undefined)} />
    </>
  );
}
