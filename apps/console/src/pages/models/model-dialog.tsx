import { Button, Group, Modal, Textarea, TextInput } from '@mantine/core';
import type { ModelRow, StoredModelAnswer } from '@sluice/contract/admin';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { act, NotUnlockedError } from '../../api/request.ts';
import { notifyDone } from '../../components/notify.ts';
import { describeError } from '../../components/states.tsx';
import {
  emptyForm,
  fieldOfParam,
  modelChange,
  type ModelField,
  type ModelForm,
  modelFormOf,
  newModel,
} from './model-form.ts';
import classes from './models.module.css';

interface ModelDialogProps {
  /** The stored model that is changed, or `new`; the dialog is closed without one. */
  asked: ModelRow | 'new' | undefined;
  /** The ids of the providers that a route may name. */
  providers: readonly string[];
  onClose: () => void;
}

/** Adds a stored model, or changes one. */
export function ModelDialog({ asked, providers, onClose }: ModelDialogProps) {
  return (
    <Modal
      opened={asked !== undefined}
      onClose={onClose}
      size="lg"
      title={asked === 'new' ? 'Add a model' : `Change ${asked?.id ?? ''}`}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {asked !== undefined && <EditModel asked={asked} providers={providers} onClose={onClose} />}
    </Modal>
  );
}

/** Inside of the dialog, so that it begins anew each time. */
function EditModel({ asked, providers, onClose }: ModelDialogProps & { asked: ModelRow | 'new' }) {
  const client = useQueryClient();
  const isNew = asked === 'new';
  const [before] = useState(() => (isNew ? emptyForm : modelFormOf(asked)));
  const [form, setForm] = useState<ModelForm>(before);
  const body = isNew ? newModel(form) : modelChange(before, form);
  const save = useMutation({
    mutationFn: () => {
      const path = isNew ? '/models' : `/models/${encodeURIComponent(asked.id)}`;
      return act<StoredModelAnswer>('POST', path, { body: body ?? {} });
    },
    onSuccess: ({ id }) => {
      notifyDone(`The model ${id} is ${isNew ? 'added' : 'changed'}. Every process follows within seconds.`);
      void client.invalidateQueries({ queryKey: ['/models'] });
      onClose();
    },
  });
  const problem = problemOf(save.error);
  const errorOf = (field: ModelField) => (problem?.field === field ? problem.text : undefined);
  const field = (name: ModelField) => ({
    value: form[name],
    error: errorOf(name),
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => {
      setForm((now) => ({ ...now, [name]: value }));
      if (save.isError) save.reset();
    },
  });
  return (
    <form
      className={classes['form']}
      onSubmit={(event) => {
        event.preventDefault();
        if (body !== undefined) save.mutate();
      }}
    >
      {problem !== undefined && problem.field === undefined && (
        <p className={classes['error']} role="alert">
          {problem.text}
        </p>
      )}
      <TextInput
        label="Name"
        description="What clients send as model"
        data-autofocus={isNew ? true : undefined}
        disabled={!isNew}
        {...field('id')}
      />
      <Textarea
        label="Routes"
        description={`A line each, in order of preference: a provider, and behind a colon the name there if it is another. ${providersText(providers)}`}
        autosize
        minRows={2}
        maxRows={8}
        {...field('routes')}
      />
      <div className={classes['pair']}>
        <TextInput label="Queue" description="That of its name if left out" {...field('queue')} />
        <TextInput
          label="At most at a time"
          description="As many as there are slots if left out"
          inputMode="numeric"
          {...field('concurrency')}
        />
      </div>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={save.isPending} disabled={body === undefined}>
          {isNew ? 'Add the model' : 'Change the model'}
        </Button>
      </Group>
    </form>
  );
}

function providersText(providers: readonly string[]): string {
  return providers.length === 0 ? 'There is no provider.' : `The providers are ${providers.join(', ')}.`;
}

function problemOf(error: unknown): { text: string; field: ModelField | undefined } | undefined {
  if (error === null || error instanceof NotUnlockedError) return undefined;
  const field = error instanceof ApiError ? fieldOfParam(error.param) : undefined;
  return { text: describeError(error).title, field };
}
