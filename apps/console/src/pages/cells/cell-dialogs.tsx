import type { CellRow } from '@sluice/contract/admin';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Moment, useNow } from '../../components/times.tsx';
import { useLast } from '../../components/use-last.ts';
import { useCellAct } from './use-cell-act.ts';

interface CellDialogProps {
  /** The cell that is asked about; the dialog is closed without one. */
  shown: CellRow | undefined;
  onClose: () => void;
}

/** Asks before a cell takes no new responses. */
export function DrainCellDialog({ shown, onClose }: CellDialogProps) {
  const actOn = useCellAct();
  const row = useLast(shown);
  if (row === undefined) return null;
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={`Drain cell ${row.cell}?`}
      action="Drain the cell"
      isDangerous={false}
      onConfirm={() => actOn(row, 'drain')}
    >
      <p>
        New responses go to other cells within ten seconds. Conversations that began there go on there, and
        what is there can be read. It may go when the retention of its last response is over.
      </p>
    </ConfirmDialog>
  );
}

/** Asks before a cell that was added is taken away. */
export function RemoveCellDialog({ shown, onClose }: CellDialogProps) {
  const actOn = useCellAct();
  const now = useNow();
  const row = useLast(shown);
  if (row === undefined) return null;
  const mayGoAt = row.may_go_at === null ? undefined : Date.parse(row.may_go_at);
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={onClose}
      title={`Remove cell ${row.cell}?`}
      action="Remove the cell"
      onConfirm={() => actOn(row, 'remove')}
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
