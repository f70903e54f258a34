import { TextInput } from '@mantine/core';
import type { ChangedCell } from '@sluice/contract/admin';
import { DialogForm, FormDialog, useDialogForm } from '../../components/dialog-form.tsx';
import { notifyDone } from '../../components/notify.ts';

interface AddCellDialogProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Adds a cell by its address. A refusal of the address stands at its field. */
export function AddCellDialog({ isOpen, onClose }: AddCellDialogProps) {
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title="Add a cell">
      <AddCell onClose={onClose} />
    </FormDialog>
  );
}

/** Inside of the dialog, so that the address, which has a password, is gone when it closes. */
function AddCell({ onClose }: { onClose: () => void }) {
  const { field, frame } = useDialogForm({
    begin: () => ({ address: '' }),
    bodyOf: (_before, { address }) => (address.trim() === '' ? undefined : { address: address.trim() }),
    path: '/cells',
    fieldOf: (param) => (param === 'address' ? param : undefined),
    changes: ['/cells'],
    onDone: ({ cell }: ChangedCell) => {
      notifyDone(
        `The cell ${cell} is added. It takes new responses ten seconds after every process has reached it.`,
      );
      onClose();
    },
  });
  return (
    <DialogForm frame={frame} action="Add the cell" onCancel={onClose}>
      <TextInput
        label="Address"
        description="As it would stand in REDIS_URL, such as redis://user:password@host:6379?cell=E. Without cell= it gets the next free name. Every api and worker has to reach it."
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        {...field('address')}
      />
    </DialogForm>
  );
}
