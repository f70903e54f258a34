import type { IssuedKey } from '@sluice/contract/admin';
import { useState } from 'react';
import { FormDialog } from '../../components/dialog-form.tsx';
import { CreateKeyForm } from './create-key-form.tsx';
import { IssuedKeyView } from './issued-key-view.tsx';

interface CreateKeyDialogProps {
  isOpen: boolean;
  onClose: () => void;
  /** The tenant that the form begins with. */
  tenant: string;
  /** Tenants that exist, for the field to complete. */
  tenants: readonly string[];
}

/**
 * Makes a key, and shows it once. A click beside the dialog or the key Escape does not close it while it shows the key, which is
 * kept nowhere else.
 */
export function CreateKeyDialog({ isOpen, onClose, tenant, tenants }: CreateKeyDialogProps) {
  const [issued, setIssued] = useState<IssuedKey>();
  const close = () => {
    setIssued(undefined);
    onClose();
  };
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={close}
      title={issued === undefined ? 'Create a key' : `The new key of ${issued.tenant}`}
      isClosable={issued === undefined}
    >
      {issued === undefined ? (
        <CreateKeyForm tenant={tenant} tenants={tenants} onCreated={setIssued} onCancel={close} />
      ) : (
        <IssuedKeyView issued={issued} onDone={close} />
      )}
    </FormDialog>
  );
}
