import { Button } from '@mantine/core';
import type { KeyReport } from '@sluice/contract/admin';
import { IconPlus } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useOffsetPages } from '../../api/use-offset-pages.ts';
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
import { stateOptions } from './key-state.ts';
import { RevokeDialog } from './revoke-dialog.tsx';

const filterKeys = ['q', 'tenant', 'state'] as const;
const refreshMs = 10_000;

/** Every API key: those of the settings file, and the stored ones, which can be created and revoked here. */
export function KeysPage() {
  const filters = useFilters(filterKeys);
  const { tenant, state } = filters.values;
  const q = filters.text('q');
  const { query, rows, more, hasMore } = useOffsetPages('/keys', {
    search: { q: q === '' ? undefined : q, tenant, state },
    refreshMs,
    keyOf: idOf,
  });
  const tenants = useMemo(() => [...new Set(rows.map((key) => key.tenant))], [rows]);
  const tenantOptions = tenants.map((value) => ({ value }));
  const unlocked = useUnlocked();
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<KeyReport>();
  const columns = keyColumns((key) => unlocked(() => setRevoking(key)));
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
        {() => (
          <>
            <FilterBar
              filters={filters}
              fields={[
                { key: 'tenant', label: 'Tenant', options: tenantOptions, allowsOther: true },
                { key: 'state', label: 'State', options: stateOptions },
              ]}
              end={`${formatCount(rows.length)}${hasMore ? ' of more' : ''} ${rows.length === 1 ? 'key' : 'keys'}`}
            >
              <SearchBox
                label="Search keys"
                placeholder="Tenant, id or last characters"
                value={q}
                onChange={(text) => filters.type({ q: text })}
              />
            </FilterBar>
            <Panel padded={false}>
              <DataTable
                label="Keys"
                columns={columns}
                rows={rows}
                rowKey={(key) => key.id ?? `file:${key.tenant}:${rows.indexOf(key)}`}
                onEnd={more}
                empty={
                  filters.count === 0 ? (
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
        )}
      </QueryView>
      <CreateKeyDialog
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        tenant={tenant?.length === 1 ? (tenant[0] ?? '') : ''}
        tenants={tenants}
      />
      <RevokeDialog shown={revoking} onClose={() => setRevoking(undefined)} />
    </>
  );
}

const idOf = ({ id }: KeyReport) => id;
