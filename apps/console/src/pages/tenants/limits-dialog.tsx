import { TextInput } from '@mantine/core';
import type { ChangedTenant, TenantReportRow } from '@sluice/contract/admin';
import { DialogForm, FormDialog, useDialogForm } from '../../components/dialog-form.tsx';
import { notifyChange } from '../../components/notify-change.tsx';
import { formatCount } from '../../format/numbers.ts';
import { KeyLimits } from '../keys/key-limits.tsx';
import { fieldOfLimits, limitsChange, limitsFormOf } from './limits-form.ts';

interface LimitsDialogProps {
  row: TenantReportRow;
  isOpen: boolean;
  onClose: () => void;
}

/**
 * Changes the limits and the weight of a tenant in all its stored keys. A field that the settings file decides shows the
 * refusal.
 */
export function LimitsDialog({ row, isOpen, onClose }: LimitsDialogProps) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={
        <>
          Limits of <bdi>{row.tenant}</bdi>
        </>
      }
    >
      <ChangeLimits row={row} onClose={onClose} />
    </FormDialog>
  );
}

/** Inside of the dialog, so that it begins anew each time. The report may change meanwhile; the typed text stays. */
function ChangeLimits({ row, onClose }: Pick<LimitsDialogProps, 'row' | 'onClose'>) {
  const { tenant } = row;
  const { form, change, field, errorOf, frame } = useDialogForm({
    begin: () => limitsFormOf(row),
    bodyOf: limitsChange,
    path: `/tenants/${encodeURIComponent(tenant)}/limits`,
    fieldOf: fieldOfLimits,
    changes: ['/tenants'],
    onDone: ({ keys, is_safe: isSafe }: ChangedTenant) => {
      notifyChange({ words: changedWords(tenant, keys), isSafe });
      onClose();
    },
  });
  return (
    <DialogForm frame={frame} action="Change the limits" onCancel={onClose}>
      <KeyLimits
        note="This changes all stored keys of the tenant."
        limits={form.limits}
        onChange={(limits) => change({ limits })}
        errorOf={errorOf}
      />
      <TextInput
        label="Weight"
        description="Its share when models are busy; 1 if left out"
        inputMode="decimal"
        {...field('weight')}
      />
    </DialogForm>
  );
}

function changedWords(tenant: string, keys: number): string {
  if (keys === 0) return `Every stored key of ${tenant} has these limits already.`;
  const changed = keys === 1 ? 'The stored key' : `${formatCount(keys)} stored keys`;
  return `${changed} of ${tenant} ${keys === 1 ? 'is' : 'are'} changed. Every api follows within seconds.`;
}
