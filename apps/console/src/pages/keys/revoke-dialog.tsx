import type { KeyReport, RevokedKey } from '@sluice/contract/admin';
import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { act } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { notifyChange } from '../../components/notify-change.tsx';
import { useLast } from '../../components/use-last.ts';

interface RevokeDialogProps {
  /** The key that is asked about; the dialog is closed without one. */
  shown: KeyReport | undefined;
  onClose: () => void;
}

/** Asks before a key is refused for good. */
export function RevokeDialog({ shown, onClose }: RevokeDialogProps) {
  const client = useQueryClient();
  const key = useLast(shown);
  if (key === undefined || key.id === null) return null;
  const { id } = key;
  const askFor = () => act<RevokedKey>('POST', `/keys/${encodeURIComponent(id)}/revoke`);
  const revoke = async () => {
    const { tenant, is_safe: isSafe } = await askFor();
    const again = async () => (await askFor()).is_safe;
    notifyChange({ words: `The key of ${tenant} is revoked.`, isSafe, again });
    // An api may take a moment to hear of it. The list is read again soon by itself.
    client.setQueriesData<KeyPages>({ queryKey: ['/keys'] }, (before) => before && withRevoked(before, id));
  };
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title="Revoke this key?"
      action="Revoke the key"
      onConfirm={revoke}
    >
      The key of <strong>{key.tenant}</strong> that ends with <code>{key.ends_with}</code> is refused from now
      on, by every api, and cannot be brought back. What was asked for with it goes on.
    </ConfirmDialog>
  );
}

type KeyPages = InfiniteData<{ data: KeyReport[] }>;

function withRevoked({ pages, ...rest }: KeyPages, id: string): KeyPages {
  const revoked = (key: KeyReport): KeyReport => (key.id === id ? { ...key, state: 'revoked' } : key);
  return { ...rest, pages: pages.map((page) => ({ ...page, data: page.data.map(revoked) })) };
}
