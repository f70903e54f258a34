import { Autocomplete, Button, Checkbox, Group, TagsInput, TextInput } from '@mantine/core';
import type { IssuedKey } from '@sluice/contract/admin';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { act } from '../../api/request.ts';
import { useSession } from '../../api/session.ts';
import { emptyKeyForm, type KeyField, type KeyForm, keyRequest, tierNames } from './key-form.ts';
import { KeyLimits } from './key-limits.tsx';
import { problemOf } from './key-problem.ts';
import classes from './keys.module.css';

interface CreateKeyFormProps {
  tenant: string;
  tenants: readonly string[];
  onCreated: (issued: IssuedKey) => void;
  onCancel: () => void;
}

/** The rules of a new key. The service checks them, and its answer is shown at the field that it is about. */
export function CreateKeyForm({ tenant, tenants, onCreated, onCancel }: CreateKeyFormProps) {
  const client = useQueryClient();
  const [form, setForm] = useState<KeyForm>({ ...emptyKeyForm, tenant });
  const create = useMutation({
    mutationFn: () => act<IssuedKey>('POST', '/keys', { body: keyRequest(form) }),
    // The key stays in the dialog alone.
    gcTime: 0,
    onSuccess: (issued) => {
      onCreated(issued);
      void client.invalidateQueries({ queryKey: ['/keys'] });
      void client.invalidateQueries({ queryKey: ['/tenants'] });
    },
  });
  const problem = problemOf(create.error);
  const errorOf = (field: KeyField) => (problem?.field === field ? problem.text : undefined);
  const change = (part: Partial<KeyForm>) => {
    setForm((before) => ({ ...before, ...part }));
    if (create.isError) create.reset();
  };
  return (
    <form
      className={classes['form']}
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      {problem !== undefined && problem.field === undefined && (
        <p className={classes['error']} role="alert">
          {problem.text}
        </p>
      )}
      <KeyFields form={form} tenants={tenants} errorOf={errorOf} onChange={change} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={create.isPending} disabled={form.tenant.trim() === ''}>
          Create the key
        </Button>
      </Group>
    </form>
  );
}

interface KeyFieldsProps {
  form: KeyForm;
  tenants: readonly string[];
  errorOf: (field: KeyField) => string | undefined;
  onChange: (part: Partial<KeyForm>) => void;
}

function KeyFields({ form, tenants, errorOf, onChange: change }: KeyFieldsProps) {
  const { data: session } = useSession();
  return (
    <>
      <Autocomplete
        label="Tenant"
        description="Keys of one tenant share its limits"
        required
        data={[...tenants]}
        limit={20}
        value={form.tenant}
        onChange={(value) => change({ tenant: value })}
        error={errorOf('tenant')}
        data-autofocus
      />
      <TagsInput
        label="Models"
        description="None: all of them"
        data={session?.models ?? []}
        value={form.models}
        onChange={(models) => change({ models })}
        error={errorOf('models')}
      />
      <Checkbox.Group
        label="Service tiers"
        value={form.tiers}
        onChange={(tiers) => change({ tiers: [...tiers] })}
        error={errorOf('tiers')}
      >
        <div className={classes['tiers']}>
          {tierNames.map((tier) => (
            <Checkbox key={tier} value={tier} label={tier} />
          ))}
        </div>
      </Checkbox.Group>
      <KeyLimits
        note="A limit that is left out stays as other keys of the tenant set it."
        limits={form.limits}
        onChange={(limits) => change({ limits })}
        errorOf={errorOf}
      />
      <div className={classes['pair']}>
        <TextInput
          label="Weight"
          description="Its share when models are busy; 1 if left out"
          inputMode="decimal"
          value={form.weight}
          onChange={(event) => change({ weight: event.currentTarget.value })}
          error={errorOf('weight')}
        />
        <TextInput
          type="date"
          label="Expires"
          description="On this day, 00:00 UTC; never if left out"
          value={form.expiresOn}
          onChange={(event) => change({ expiresOn: event.currentTarget.value })}
          error={errorOf('expiresAt')}
        />
      </div>
    </>
  );
}
