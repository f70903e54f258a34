import { Button, Group, Modal, TextInput } from '@mantine/core';
import type { ChangedTenant, TenantReportRow } from '@sluice/contract/admin';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { act } from '../../api/request.ts';
import { notifyChange } from '../../components/notify-change.tsx';
import { formatCount } from '../../format/numbers.ts';
import type { KeyField } from '../keys/key-form.ts';
import { KeyLimits } from '../keys/key-limits.tsx';
import classes from '../keys/keys.module.css';
import { problemOf } from '../keys/key-problem.ts';
import { limitsChange, type LimitsForm, limitsFormOf } from './limits-form.ts';

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
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title={
        <>
          Limits of <bdi>{row.tenant}</bdi>
        </>
      }
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <ChangeLimits row={row} onClose={onClose} />
    </Modal>
  );
}

/** Inside of the dialog, so that it begins anew each time. The report may change meanwhile; the typed text stays. */
function ChangeLimits({ row, onClose }: Pick<LimitsDialogProps, 'row' | 'onClose'>) {
  const { tenant } = row;
  const client = useQueryClient();
  const [before] = useState(() => limitsFormOf(row));
  const [form, setForm] = useState<LimitsForm>(before);
  const body = limitsChange(before, form);
  const path = `/tenants/${encodeURIComponent(tenant)}/limits`;
  const save = useMutation({
    mutationFn: () => act<ChangedTenant>('POST', path, { body: body ?? {} }),
    onSuccess: ({ keys, is_safe: isSafe }) => {
      notifyChange({ words: changedWords(tenant, keys), isSafe });
      void client.invalidateQueries({ queryKey: ['/tenants'] });
      onClose();
    },
  });
  const problem = problemOf(save.error);
  const errorOf = (field: KeyField) => (problem?.field === field ? problem.text : undefined);
  const hasField = problem !== undefined && problem.field !== undefined && problem.field !== 'tenant';
  const change = (part: Partial<LimitsForm>) => {
    setForm((now) => ({ ...now, ...part }));
    if (save.isError) save.reset();
  };
  return (
    <form
      className={classes['form']}
      onSubmit={(event) => {
        event.preventDefault();
        if (body !== undefined) save.mutate();
      }}
    >
      {problem !== undefined && !hasField && (
        <p className={classes['error']} role="alert">
          {problem.text}
        </p>
      )}
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
        value={form.weight}
        onChange={(event) => change({ weight: event.currentTarget.value })}
        error={errorOf('weight')}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={save.isPending} disabled={body === undefined}>
          Change the limits
        </Button>
      </Group>
    </form>
  );
}

function changedWords(tenant: string, keys: number): string {
  if (keys === 0) return `Every stored key of ${tenant} has these limits already.`;
  const changed = keys === 1 ? 'The stored key' : `${formatCount(keys)} stored keys`;
  return `${changed} of ${tenant} ${keys === 1 ? 'is' : 'are'} changed. Every api follows within seconds.`;
}
