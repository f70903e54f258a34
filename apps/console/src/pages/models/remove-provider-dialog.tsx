import type { ProviderRow, RemovedProvider } from '@sluice/contract/admin';
import { useQueryClient } from '@tanstack/react-query';
import { act } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { notifyDone } from '../../components/notify.ts';
import { useLast } from '../../components/use-last.ts';

interface RemoveProviderDialogProps {
  /** The stored provider that is asked about; the dialog is closed without one. */
  shown: ProviderRow | undefined;
  onClose: () => void;
}

/** Asks before a stored provider is taken away. */
export function RemoveProviderDialog({ shown, onClose }: RemoveProviderDialogProps) {
  const client = useQueryClient();
  const provider = useLast(shown);
  if (provider === undefined) return null;
  const remove = async () => {
    const path = `/providers/${encodeURIComponent(provider.id)}/remove`;
    const { id } = await act<RemovedProvider>('POST', path);
    notifyDone(`The provider ${id} is removed.`);
    await client.invalidateQueries({ queryKey: ['/providers'] });
    await client.invalidateQueries({ queryKey: ['/models'] });
  };
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={`Remove ${provider.id}?`}
      action="Remove the provider"
      onConfirm={remove}
    >
      <p>
        It is refused while a stored model has a route to it. The models that it lists go with it. Running
        responses go on, and those that wait for removed models are served.
      </p>
    </ConfirmDialog>
  );
}
