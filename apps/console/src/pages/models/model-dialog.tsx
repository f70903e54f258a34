import { Textarea, TextInput } from '@mantine/core';
import type { ModelRow, StoredModelAnswer } from '@sluice/contract/admin';
import { DialogForm, FormDialog, useDialogForm } from '../../components/dialog-form.tsx';
import { notifyDone } from '../../components/notify.ts';
import { emptyForm, fieldOfParam, modelChange, modelFormOf, newModel } from './model-form.ts';
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
  const title = asked === 'new' ? 'Add a model' : `Change ${asked?.id ?? ''}`;
  return (
    <FormDialog isOpen={asked !== undefined} onClose={onClose} title={title}>
      {asked !== undefined && <EditModel asked={asked} providers={providers} onClose={onClose} />}
    </FormDialog>
  );
}

function EditModel({ asked, providers, onClose }: ModelDialogProps & { asked: ModelRow | 'new' }) {
  const isNew = asked === 'new';
  const { field, frame } = useDialogForm({
    begin: () => (isNew ? emptyForm : modelFormOf(asked)),
    bodyOf: (before, now) => (isNew ? newModel(now) : modelChange(before, now)),
    path: isNew ? '/models' : `/models/${encodeURIComponent(asked.id)}`,
    fieldOf: fieldOfParam,
    changes: ['/models'],
    onDone: ({ id }: StoredModelAnswer) => {
      notifyDone(`The model ${id} is ${isNew ? 'added' : 'changed'}. Every process follows within seconds.`);
      onClose();
    },
  });
  return (
    <DialogForm frame={frame} action={isNew ? 'Add the model' : 'Change the model'} onCancel={onClose}>
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
    </DialogForm>
  );
}

function providersText(providers: readonly string[]): string {
  return providers.length === 0 ? 'There is no provider.' : `The providers are ${providers.join(', ')}.`;
}
