import type { CellRow, ChangedCell } from '@sluice/contract/admin';
import { useQueryClient } from '@tanstack/react-query';
import { act } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { notifyDone } from '../../components/notify.ts';
import { useLast } from '../../components/use-last.ts';

interface DrainCellDialogProps {
  /** The cell that is asked about; the dialog is closed without one. */
  shown: CellRow | undefined;
  onClose: () => void;
}

/** Asks before a cell takes no new responses. */
export function DrainCellDialog({ shown, onClose }: DrainCellDialogProps) {
  const client = useQueryClient();
  const row = useLast(shown);
  if (row === undefined) return null;
  const drain = async () => {
    const { cell } = await act<ChangedCell>('POST', `/cells/${encodeURIComponent(row.cell)}/drain`);
    notifyDone(`The cell ${cell} takes no new responses in ten seconds.`);
    await client.invalidateQueries({ queryKey: ['/cells'] });
  };
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={`Drain cell ${row.cell}?`}
      action="Drain the cell"
      isDangerous={false}
      onConfirm={drain}
    >
      <p>
        New responses go to other cells within ten seconds. Conversations that began there go on there, and
        what is there can be read. It may go when the retention of its last response is over.
      </p>
    </ConfirmDialog>
  );
}
