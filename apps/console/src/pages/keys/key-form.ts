import { forEachLimit, type LimitName, limitNames } from '@sluice/contract/tenant-limits';

export const tierNames = ['default', 'flex', 'priority'] as const;

/** The form of a new key as it is filled in. An empty text is left to the service. */
export interface KeyForm {
  tenant: string;
  /** None: all models. */
  models: string[];
  tiers: string[];
  weight: string;
  limits: Record<LimitName, string>;
  /** The value of a field for a date: `2027-01-31`. */
  expiresOn: string;
}

export const emptyKeyForm: KeyForm = {
  tenant: '',
  models: [],
  tiers: ['default', 'flex'],
  weight: '',
  limits: forEachLimit(() => ''),
  expiresOn: '',
};

/** The body that creates the key. Text that is no number is sent unchanged, so that the service explains the error. */
export function keyRequest(form: KeyForm): Record<string, unknown> {
  const limits = Object.entries(form.limits).filter(([, typed]) => typed.trim() !== '');
  return {
    tenant: form.tenant.trim(),
    models: form.models.length === 0 ? ['*'] : form.models,
    tiers: form.tiers,
    ...(form.weight.trim() !== '' && { weight: numberOf(form.weight) }),
    ...(limits.length > 0 && {
      limits: Object.fromEntries(limits.map(([name, typed]) => [name, numberOf(typed)])),
    }),
    ...(form.expiresOn !== '' && { expiresAt: form.expiresOn }),
  };
}

/** A number whose thousands are set apart by one sign. A comma anywhere else may be that of a decimal. */
const grouped = /^[1-9]\d{0,2}([\s,_])\d{3}(?:\1\d{3})*(?:\.\d+)?$/;

/** The typed text, as a number where it is one. */
export function numberOf(typed: string): number | string {
  const text = typed.trim();
  const number = Number(grouped.test(text) ? text.replaceAll(/[\s,_]/g, '') : text);
  return Number.isFinite(number) ? number : text;
}

/** A field of the form, as errors name it. */
export type KeyField = 'tenant' | 'models' | 'tiers' | 'weight' | 'expiresAt' | `limits.${LimitName}`;

/** The field that the `param` of an error is about, such as `models[0]`; undefined when the form has none for it. */
export function fieldOfParam(param: string | null): KeyField | undefined {
  if (param === null) return undefined;
  const [name = ''] = param.split('[');
  return keyFields.find((field) => field === name);
}

const keyFields: readonly KeyField[] = [
  'tenant',
  'models',
  'tiers',
  'weight',
  'expiresAt',
  ...limitNames.map((name) => `limits.${name}` as const),
];
