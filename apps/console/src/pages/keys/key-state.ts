import type { KeyReport } from '@sluice/contract/admin';

export const stateWords: Record<KeyReport['state'], string> = {
  active: 'Active',
  expired: 'Expired',
  revoked: 'Revoked',
  disabled: 'Disabled',
};

/** The states to filter by. */
export const stateOptions = Object.entries(stateWords).map(([value, label]) => ({ value, label }));
