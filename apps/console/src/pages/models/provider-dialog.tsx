import { Button, Checkbox, Group, Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { ProviderRow, StoredProviderAnswer } from '@sluice/contract/admin';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { act, NotUnlockedError } from '../../api/request.ts';
import { notifyDone } from '../../components/notify.ts';
import { describeError } from '../../components/states.tsx';
import classes from './models.module.css';
import {
  emptyProvider,
  newProvider,
  providerChange,
  type ProviderField,
  providerFieldOf,
  type ProviderForm,
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
  return (
    <Modal
      opened={asked !== undefined}
      onClose={onClose}
      size="lg"
      title={asked === 'new' ? 'Add a provider' : `Change ${asked?.id ?? ''}`}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {asked !== undefined && <EditProvider asked={asked} onClose={onClose} />}
    </Modal>
  );
}

type Edited = { asked: ProviderRow | 'new'; onClose: () => void };

/** The state of the form, and the act that saves it. */
function useProviderForm({ asked, onClose }: Edited) {
  const client = useQueryClient();
  const isNew = asked === 'new';
  const [before] = useState(() => (isNew ? emptyProvider : providerFormOf(asked)));
  const [form, setForm] = useState<ProviderForm>(before);
  const body = isNew ? newProvider(form) : providerChange(before, form);
  const save = useMutation({
    mutationFn: () => {
      const path = isNew ? '/providers' : `/providers/${encodeURIComponent(asked.id)}`;
      return act<StoredProviderAnswer>('POST', path, { body: body ?? {} });
    },
    onSuccess: ({ id }) => {
      notifyDone(
        `The provider ${id} is ${isNew ? 'added' : 'changed'}. Every process follows within seconds.`,
      );
      void client.invalidateQueries({ queryKey: ['/providers'] });
      void client.invalidateQueries({ queryKey: ['/models'] });
      onClose();
    },
  });
  const set = (change: Partial<ProviderForm>) => {
    setForm((now) => ({ ...now, ...change }));
    if (save.isError) save.reset();
  };
  return { isNew, form, set, body, save, problem: problemOf(save.error) };
}

/** Inside of the dialog, so that it begins anew each time. */
function EditProvider({ asked, onClose }: Edited) {
  const { isNew, form, set, body, save, problem } = useProviderForm({ asked, onClose });
  const errorOf = (field: ProviderField) => (problem?.field === field ? problem.text : undefined);
  const field = (name: 'id' | 'type' | 'servers' | 'apiKeyVariable') => ({
    value: form[name],
    error: errorOf(name),
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => set({ [name]: value }),
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
            onChange={({ currentTarget: { checked } }) => set({ discover: checked })}
          />
        </>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={save.isPending} disabled={body === undefined}>
          {isNew ? 'Add the provider' : 'Change the provider'}
        </Button>
      </Group>
    </form>
  );
}

function problemOf(error: unknown): { text: string; field: ProviderField | undefined } | undefined {
  if (error === null || error instanceof NotUnlockedError) return undefined;
  const field = error instanceof ApiError ? providerFieldOf(error.param) : undefined;
  return { text: describeError(error).title, field };
}
