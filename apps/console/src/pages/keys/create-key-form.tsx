import { Autocomplete, Checkbox, TagsInput, TextInput } from '@mantine/core';
import type { IssuedKey } from '@sluice/contract/admin';
import { useSession } from '../../api/session.ts';
import { DialogForm, useDialogForm } from '../../components/dialog-form.tsx';
import { emptyKeyForm, fieldOfParam, keyRequest, tierNames } from './key-form.ts';
import { KeyLimits } from './key-limits.tsx';
import classes from './keys.module.css';

interface CreateKeyFormProps {
  tenant: string;
  tenants: readonly string[];
  onCreated: (issued: IssuedKey) => void;
  onCancel: () => void;
}

/** The rules of a new key. */
export function CreateKeyForm({ tenant, tenants, onCreated, onCancel }: CreateKeyFormProps) {
  const { data: session } = useSession();
  const { form, change, field, errorOf, frame } = useDialogForm({
    begin: () => ({ ...emptyKeyForm, tenant }),
    bodyOf: (_before, now) => (now.tenant.trim() === '' ? undefined : keyRequest(now)),
    path: '/keys',
    fieldOf: fieldOfParam,
    changes: ['/keys', '/tenants'],
    onDone: onCreated,
  });
  return (
    <DialogForm frame={frame} action="Create the key" onCancel={onCancel}>
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
          {...field('weight')}
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
    </DialogForm>
  );
}
