import type { KeyReport } from '@sluice/contract/admin';
import type { StateWords } from '../../components/tone-badge.tsx';

export const states: Record<KeyReport['state'], StateWords> = {
  active: ['good', 'Active'],
  expired: ['quiet', 'Expired'],
  revoked: ['quiet', 'Revoked'],
  disabled: ['warn', 'Disabled'],
};

/** The states to filter by. */
export const stateOptions = Object.entries(states).map(([value, [, label]]) => ({ value, label }));
