import { TextInput } from '@mantine/core';
import { type KeyField, type LimitName, limitLabels } from './key-form.ts';
import classes from './keys.module.css';

interface KeyLimitsProps<Name extends LimitName> {
  /** What it means to leave a field empty. */
  note: string;
  names: readonly Name[];
  limits: Record<Name, string>;
  onChange: (limits: Record<Name, string>) => void;
  errorOf: (field: KeyField) => string | undefined;
}

/** The limits of a tenant, a field for each name. */
export function KeyLimits<Name extends LimitName>({
  note,
  names,
  limits,
  onChange,
  errorOf,
}: KeyLimitsProps<Name>) {
  return (
    <fieldset className={classes['limits']}>
      <legend>Limits of the tenant</legend>
      <p className={classes['note']}>{note}</p>
      <div className={classes['fields']}>
        {names.map((name) => (
          <TextInput
            key={name}
            label={limitLabels[name]}
            inputMode="numeric"
            value={limits[name]}
            onChange={(event) => onChange({ ...limits, [name]: event.currentTarget.value })}
            error={errorOf(`limits.${name}`)}
          />
        ))}
      </div>
    </fieldset>
  );
}
