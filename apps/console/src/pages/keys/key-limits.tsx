import { TextInput } from '@mantine/core';
import { type KeyField, type KeyForm, limitFields } from './key-form.ts';
import classes from './keys.module.css';

interface KeyLimitsProps {
  limits: KeyForm['limits'];
  onChange: (limits: KeyForm['limits']) => void;
  errorOf: (field: KeyField) => string | undefined;
}

/** The limits of a new key. */
export function KeyLimits({ limits, onChange, errorOf }: KeyLimitsProps) {
  return (
    <fieldset className={classes['limits']}>
      <legend>Limits of the tenant</legend>
      <p className={classes['note']}>
        Left out, a limit is what other keys of the tenant say, or there is none.
      </p>
      <div className={classes['fields']}>
        {limitFields.map(({ name, label }) => (
          <TextInput
            key={name}
            label={label}
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
