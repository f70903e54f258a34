import { ActProgress } from '../../components/act-progress.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { drainKeys } from './drain-keys.ts';

/** How far the drain is that the address names; nothing when it names none. */
export function DrainProgress() {
  const filters = useFilters(drainKeys);
  const id = filters.text('act');
  return id === '' ? null : <ActProgress key={id} id={id} onClose={() => filters.set('act', [])} />;
}
