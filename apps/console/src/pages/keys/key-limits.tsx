import { TextInput } from '@mantine/core';
import { type LimitName, limitNames, type LimitRow, tenantLimits } from '@sluice/contract/tenant-limits';
import { formatCount } from '../../format/numbers.ts';
import type { KeyField } from './key-form.ts';
import classes from './keys.module.css';

interface KeyLimitsProps {
  /** The meaning of an empty field. */
  note: string;
  limits: Record<LimitName, string>;
  onChange: (limits: Record<LimitName, string>) => void;
  errorOf: (field: KeyField) => string | undefined;
}

/** The limits of a tenant, a field for each. */
export function KeyLimits({ note, limits, onChange, errorOf }: KeyLimitsProps) {
  return (
    <fieldset className={classes['limits']}>
      <legend>Limits of the tenant</legend>
      <p className={classes['note']}>{note}</p>
      <div className={classes['fields']}>
        {limitNames.map((name) => (
          <TextInput
            key={name}
            label={tenantLimits[name].label}
            description={`If left out: ${otherwiseWords(tenantLimits[name])}`}
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

/** Describes a tenant without the limit. Names of settings are in backquotes, for Markdown. */
export function otherwiseWords({ otherwise }: LimitRow): string {
  return typeof otherwise === 'number' ? formatCount(otherwise) : otherwise.words.replaceAll('`', '');
}
