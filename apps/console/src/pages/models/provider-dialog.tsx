import { Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { ProviderRow, StoredProviderAnswer } from '@sluice/contract/admin';
import { DialogForm, FormDialog, useDialogForm } from '../../components/dialog-form.tsx';
import { notifyDone } from '../../components/notify.ts';
import classes from './models.module.css';
import {
  emptyProvider,
  newProvider,
  providerChange,
  providerFieldOf,
  providerFormOf,
  providerTypes,
} from './provider-form.ts';

interface ProviderDialogProps {
  /** The stored provider that is changed, or `new`; the dialog is closed without one. */
  asked: ProviderRow | 'new' | undefined;
  onClose: () => void;
}

/** Adds a stored provider, or changes one. */
export function ProviderDialog({ asked, onClose }: ProviderDialogProps) {
  const title = asked === 'new' ? 'Add a provider' : `Change ${asked?.id ?? ''}`;
  return (
    <FormDialog isOpen={asked !== undefined} onClose={onClose} title={title}>
      {asked !== undefined && <EditProvider asked={asked} onClose={onClose} />}
    </FormDialog>
  );
}

function EditProvider({ asked, onClose }: ProviderDialogProps & { asked: ProviderRow | 'new' }) {
  const isNew = asked === 'new';
  const { form, change, field, frame } = useDialogForm({
    begin: () => (isNew ? emptyProvider : providerFormOf(asked)),
    bodyOf: (before, now) => (isNew ? newProvider(now) : providerChange(before, now)),
    path: isNew ? '/providers' : `/providers/${encodeURIComponent(asked.id)}`,
    fieldOf: providerFieldOf,
    changes: ['/providers', '/models'],
    onDone: ({ id }: StoredProviderAnswer) => {
      notifyDone(
        `The provider ${id} is ${isNew ? 'added' : 'changed'}. Every process follows within seconds.`,
      );
      onClose();
    },
  });
  return (
    <DialogForm frame={frame} action={isNew ? 'Add the provider' : 'Change the provider'} onCancel={onClose}>
      <div className={classes['pair']}>
        <TextInput
          label="Name"
          description="For routes and logs"
          data-autofocus={isNew ? true : undefined}
          disabled={!isNew}
          {...field('id')}
        />
        <NativeSelect
          label="Type"
          description="The protocol of its API"
          data={[...providerTypes]}
          disabled={!isNew}
          {...field('type')}
        />
      </div>
      {form.type !== 'simulator' && (
        <>
          <Textarea
            label="Servers"
            description="The address of its API, such as http://10.0.0.12:8000/v1. A line each for several servers of the same models."
            autosize
            minRows={1}
            maxRows={8}
            {...field('servers')}
          />
          <TextInput
            label="Variable with the key"
            description="An environment variable that each worker has, such as UPSTREAM_VLLM. The key itself is stored nowhere. Left out, no key is sent."
            {...field('apiKeyVariable')}
          />
          <Checkbox
            label="Offer the models that it lists"
            description="Under its names for them, as they come and go"
            checked={form.discover}
            onChange={({ currentTarget: { checked } }) => change({ discover: checked })}
          />
        </>
      )}
    </DialogForm>
  );
}
