import { Button, Group, Modal, TextInput } from '@mantine/core';
import type { ChangedCell } from '@sluice/contract/admin';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { act, NotUnlockedError } from '../../api/request.ts';
import { notifyDone } from '../../components/notify.ts';
import { describeError } from '../../components/states.tsx';
import classes from './cells.module.css';

interface AddCellDialogProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Adds a cell by its address. A refusal of the address stands at its field. */
export function AddCellDialog({ isOpen, onClose }: AddCellDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title="Add a cell"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <AddCell onClose={onClose} />
    </Modal>
  );
}

/** Inside of the dialog, so that the address, which has a password, is gone when it closes. */
function AddCell({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState('');
  const address = text.trim();
  const add = useMutation({
    mutationFn: () => act<ChangedCell>('POST', '/cells', { body: { address } }),
    onSuccess: ({ cell }) => {
      notifyDone(
        `The cell ${cell} is added. It takes new responses ten seconds after every process has reached it.`,
      );
      void client.invalidateQueries({ queryKey: ['/cells'] });
      onClose();
    },
  });
  const problem = problemOf(add.error);
  return (
    <form
      className={classes['form']}
      onSubmit={(event) => {
        event.preventDefault();
        if (address !== '') add.mutate();
      }}
    >
      {problem !== undefined && !problem.isOfAddress && (
        <p className={classes['note']} data-tone="bad" role="alert">
          {problem.text}
        </p>
      )}
      <TextInput
        label="Address"
        description="As it would stand in REDIS_URL, such as redis://user:password@host:6379?cell=E. Without cell= it gets the next free name. Every api and worker has to reach it."
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={text}
        error={problem?.isOfAddress === true && problem.text}
        onChange={({ currentTarget: { value } }) => {
          setText(value);
          if (add.isError) add.reset();
        }}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={add.isPending} disabled={address === ''}>
          Add the cell
        </Button>
      </Group>
    </form>
  );
}

function problemOf(error: unknown): { text: string; isOfAddress: boolean } | undefined {
  if (error === null || error instanceof NotUnlockedError) return undefined;
  const isOfAddress = error instanceof ApiError && error.param === 'address';
  return { text: describeError(error).title, isOfAddress };
}
