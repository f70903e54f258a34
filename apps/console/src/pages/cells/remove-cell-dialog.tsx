import type { CellRow, ChangedCell } from '@sluice/contract/admin';
import { useQueryClient } from '@tanstack/react-query';
import { act } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { notifyDone } from '../../components/notify.ts';
import { Moment, useNow } from '../../components/times.tsx';
import { useLast } from '../../components/use-last.ts';

interface RemoveCellDialogProps {
  /** The cell that is asked about; the dialog is closed without one. */
  shown: CellRow | undefined;
  onClose: () => void;
}

/** Asks before a cell that was added is taken away. */
export function RemoveCellDialog({ shown, onClose }: RemoveCellDialogProps) {
  const client = useQueryClient();
  const now = useNow();
  const row = useLast(shown);
  if (row === undefined) return null;
  const remove = async () => {
    const { cell } = await act<ChangedCell>('POST', `/cells/${encodeURIComponent(row.cell)}/remove`);
    notifyDone(`The cell ${cell} is removed. Every process leaves it within two seconds.`);
    await client.invalidateQueries({ queryKey: ['/cells'] });
  };
  const mayGoAt = row.may_go_at === null ? undefined : Date.parse(row.may_go_at);
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={`Remove cell ${row.cell}?`}
      action="Remove the cell"
      onConfirm={remove}
    >
      <p>Every process leaves it within two seconds. Nothing is deleted from its Redis.</p>
      {mayGoAt !== undefined && mayGoAt > now && (
        <p>
          It is refused for now, because responses may live there. It may go <Moment at={mayGoAt} />.
        </p>
      )}
    </ConfirmDialog>
  );
}
