import { Button, Group, Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ApiError } from '../api/api-error.ts';
import { act, NotUnlockedError } from '../api/request.ts';
import classes from './dialog-form.module.css';
import { describeError } from './states.tsx';

interface FormDialogProps {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  /** Whether the key Escape and the button in the corner close it; they do if left out. A click beside it never does. */
  isClosable?: boolean;
  /** Begins anew each time that the dialog opens. */
  children: ReactNode;
}

/** A dialog for a form. */
export function FormDialog({ isOpen, onClose, title, isClosable = true, children }: FormDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title={title}
      closeOnClickOutside={false}
      closeOnEscape={isClosable}
      withCloseButton={isClosable}
    >
      {children}
    </Modal>
  );
}

/** The names of the members of a form that are texts. */
export type TextOf<Form> = keyof {
  [Name in keyof Form & string as Form[Name] extends string ? Name : never]: 0;
};

interface FormAct<Form, Answer, Field> {
  /** The form as it is at first. */
  begin: () => Form;
  /** The body that is sent; undefined while there is nothing to send. */
  bodyOf: (before: Form, now: Form) => unknown;
  path: string;
  /** The field that the `param` of a refusal is about. */
  fieldOf: (param: string | null) => Field | undefined;
  /** The paths whose answers become others. */
  changes: readonly string[];
  onDone: (answer: Answer) => void;
}

/**
 * The state of a form in a dialog, and the act that sends it. The service checks what is typed, and its refusal is shown at the
 * field that it is about, or else above all of them, until something is typed again.
 */
export function useDialogForm<Form extends object, Answer, Field>(given: FormAct<Form, Answer, Field>) {
  const { begin, bodyOf, path, fieldOf, changes, onDone } = given;
  const client = useQueryClient();
  const [before] = useState(begin);
  const [form, setForm] = useState(before);
  const body = bodyOf(before, form);
  const send = useMutation({
    mutationFn: () => act<Answer>('POST', path, { body }),
    // An answer may hold a key, which stays in the dialog alone.
    gcTime: 0,
    onSuccess: (answer) => {
      onDone(answer);
      for (const each of changes) void client.invalidateQueries({ queryKey: [each] });
    },
  });
  const change = (part: Partial<Form>) => {
    setForm((now) => ({ ...now, ...part }));
    if (send.isError) send.reset();
  };
  const problem = problemOf(send.error, fieldOf);
  const errorOf = (field: Field) => (problem?.field === field ? problem.text : undefined);
  /** The properties of the field of a text. */
  const field = <Name extends TextOf<Form> & Field>(name: Name) => ({
    value: form[name],
    error: errorOf(name),
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
      change({ [name]: value } as Partial<Form>), // It is the name of a text.
  });
  const frame: FormFrame = {
    error: problem?.field === undefined ? problem?.text : undefined,
    isReady: body !== undefined,
    isRunning: send.isPending,
    onSubmit: send.mutate,
  };
  return { form, change, field, errorOf, frame };
}

function problemOf<Field>(
  error: unknown,
  fieldOf: (param: string | null) => Field | undefined,
): { text: string; field: Field | undefined } | undefined {
  if (error === null || error instanceof NotUnlockedError) return undefined;
  const field = error instanceof ApiError ? fieldOf(error.param) : undefined;
  return { text: describeError(error).title, field };
}

interface FormFrame {
  /** A refusal that is about none of its fields. */
  error: string | undefined;
  isReady: boolean;
  isRunning: boolean;
  onSubmit: () => void;
}

interface DialogFormProps {
  frame: FormFrame;
  /** The verb on the button that sends it. */
  action: string;
  onCancel: () => void;
  children: ReactNode;
}

/** The fields of a dialog, between a refusal that is about none of them and the buttons. */
export function DialogForm({ frame, action, onCancel, children }: DialogFormProps) {
  const { error, isReady, isRunning, onSubmit } = frame;
  return (
    <form
      className={classes['form']}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) onSubmit();
      }}
    >
      {error !== undefined && (
        <p className={classes['error']} role="alert">
          {error}
        </p>
      )}
      {children}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isRunning} disabled={!isReady}>
          {action}
        </Button>
      </Group>
    </form>
  );
}
