import { Button, Group, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { NotUnlockedError } from '../api/request.ts';
import { describeError } from './states.tsx';
import classes from './confirm-dialog.module.css';

interface ConfirmDialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** The consequences, with the number of things that they affect. */
  children: ReactNode;
  /** The verb on the button: "Cancel 1,204 responses". */
  action: string;
  /** A text that has to be typed before the button works; for acts that cannot be undone. */
  mustType?: string;
  isDangerous?: boolean;
  /** Does it. The dialog closes when it resolves, and shows the error when it rejects. */
  onConfirm: () => Promise<unknown>;
}

/** Asks before something is done. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onClose, title } = props;
  return (
    <Modal opened={isOpen} onClose={onClose} title={title}>
      <Question {...props} />
    </Modal>
  );
}

/** Inside of the dialog, so that the typed text is gone when it closes. */
function Question({
  children,
  action,
  mustType,
  isDangerous = true,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [typed, setTyped] = useState('');
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const confirm = async () => {
    setRunning(true);
    setError(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (caught) {
      if (!(caught instanceof NotUnlockedError)) setError(caught);
    } finally {
      setRunning(false);
    }
  };
  const isReady = mustType === undefined || typed.trim() === mustType;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void confirm();
      }}
    >
      <div className={classes['text']}>{children}</div>
      {mustType !== undefined && (
        <TextInput
          label={
            <>
              Type <code>{mustType}</code> to go on
            </>
          }
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
      )}
      {error !== undefined && (
        <p className={classes['error']} role="alert">
          {describeError(error).title}
        </p>
      )}
      <Group justify="flex-end" mt="lg">
        <Button variant="default" onClick={onClose}>
          Leave it
        </Button>
        <Button type="submit" color={isDangerous ? 'red' : 'accent'} disabled={!isReady} loading={isRunning}>
          {action}
        </Button>
      </Group>
    </form>
  );
}
