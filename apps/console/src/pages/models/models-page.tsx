import { Button, Group } from '@mantine/core';
import type { AdminModelList, ModelRow } from '@sluice/contract/admin';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
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
import { countOf } from '../../format/numbers.ts';
import { modelColumns } from './model-columns.tsx';
import { ModelDialog } from './model-dialog.tsx';
import classes from './models.module.css';
import { ProvidersSection } from './providers-section.tsx';
import { RemoveModelDialog } from './remove-model-dialog.tsx';

const filterKeys = ['q'] as const;
const refreshMs = 2_000;

/** Every model that clients may name: those of the settings file and of upstreams, and stored ones, which can be changed here. Providers are below. */
export function ModelsPage() {
  const query = useQuery({ ...adminQuery<AdminModelList>('/models'), refetchInterval: refreshMs });
  const filters = useFilters(filterKeys);
  const unlocked = useUnlocked();
  const [editing, setEditing] = useState<ModelRow | 'new'>();
  const [removing, setRemoving] = useState<ModelRow>();
  const [isAddingProvider, setIsAddingProvider] = useState(false);
  const columns = modelColumns({
    onChange: (model) => unlocked(() => setEditing(model)),
    onRemove: (model) => unlocked(() => setRemoving(model)),
  });
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => unlocked(() => setEditing('new'))}>
      Add a model
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Models"
        description="What clients may name, and where it goes."
        actions={
          <Group gap="xs">
            <Button
              variant="default"
              leftSection={<IconPlus size={16} />}
              onClick={() => unlocked(() => setIsAddingProvider(true))}
            >
              Add a provider
            </Button>
            {add}
          </Group>
        }
      />
      <QueryView query={query}>
        {({ data, unusable }) => {
          const found = matching(data, filters.text('q'));
          return (
            <>
              {unusable.map(({ id, problem }) => (
                <p key={id} className={classes['error']} role="alert">
                  The stored model <strong>{id}</strong> is not offered: {problem}
                </p>
              ))}
              <FilterBar filters={filters} fields={[]} end={countOf(found.length, 'model')}>
                <SearchBox
                  label="Search models and providers"
                  value={filters.text('q')}
                  onChange={(q) => filters.type({ q })}
                />
              </FilterBar>
              <Panel padded={false}>
                <DataTable
                  label="Models"
                  columns={columns}
                  rows={found}
                  rowKey={({ id }) => id}
                  empty={<NoModels isEmpty={data.length === 0} add={add} />}
                />
              </Panel>
            </>
          );
        }}
      </QueryView>
      <ProvidersSection isAdding={isAddingProvider} onAdded={() => setIsAddingProvider(false)} />
      <ModelDialog
        asked={editing}
        providers={query.data?.providers ?? []}
        onClose={() => setEditing(undefined)}
      />
      <RemoveModelDialog shown={removing} onClose={() => setRemoving(undefined)} />
    </>
  );
}

function NoModels({ isEmpty, add }: { isEmpty: boolean; add: ReactNode }) {
  return isEmpty ? (
    <EmptyState title="There are no models" action={add}>
      The settings file names none, and no upstream has listed any.
    </EmptyState>
  ) : (
    <EmptyState title="No model matches">Search for another name, or clear the search.</EmptyState>
  );
}

function matching(models: readonly ModelRow[], text: string): readonly ModelRow[] {
  const wanted = text.trim().toLowerCase();
  return models.filter(({ id, routes }) =>
    [id, ...routes.map(({ provider }) => provider)].some((name) => name.toLowerCase().includes(wanted)),
  );
}
