import type { ProviderList, ProviderRow } from '@sluice/contract/admin';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { adminQuery } from '../../api/query-client.ts';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { SmallTable } from '../../components/small-table.tsx';
import { useUnlocked } from '../../components/use-unlocked.ts';
import classes from './models.module.css';
import { providerColumns } from './provider-columns.tsx';
import { ProviderDialog } from './provider-dialog.tsx';
import { RemoveProviderDialog } from './remove-provider-dialog.tsx';

const refreshMs = 5_000;

interface ProvidersSectionProps {
  /** Whether the dialog for a new provider is open. */
  isAdding: boolean;
  onAdded: () => void;
}

/** Where models are called: the providers of the settings file, and stored ones, which can be changed here. */
export function ProvidersSection({ isAdding, onAdded }: ProvidersSectionProps) {
  const query = useQuery({ ...adminQuery<ProviderList>('/providers'), refetchInterval: refreshMs });
  const unlocked = useUnlocked();
  const [editing, setEditing] = useState<ProviderRow>();
  const [removing, setRemoving] = useState<ProviderRow>();
  const columns = providerColumns({
    onChange: (provider) => unlocked(() => setEditing(provider)),
    onRemove: (provider) => unlocked(() => setRemoving(provider)),
  });
  return (
    <div className={classes['providers']}>
      <Panel title="Providers" note="Where requests go" padded={false}>
        <QueryView query={query}>
          {({ data, unusable }) => (
            <>
              {unusable.map(({ id, problem }) => (
                <p key={id} className={classes['error']} role="alert">
                  The stored provider <strong>{id}</strong> is not in effect: {problem}
                </p>
              ))}
              <SmallTable label="Providers" columns={columns} rows={data} rowKey={({ id }) => id} />
            </>
          )}
        </QueryView>
      </Panel>
      <ProviderDialog
        asked={isAdding ? 'new' : editing}
        onClose={() => (isAdding ? onAdded() : setEditing(undefined))}
      />
      <RemoveProviderDialog shown={removing} onClose={() => setRemoving(undefined)} />
    </div>
  );
}
