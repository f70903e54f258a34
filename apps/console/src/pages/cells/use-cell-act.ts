import type { CellRow, ChangedCell } from '@sluice/contract/admin';
import { useQueryClient } from '@tanstack/react-query';
import { act } from '../../api/request.ts';
import { notifyDone } from '../../components/notify.ts';
import type { CellAct } from './cell-state.ts';

const doneWords: Record<CellAct, string> = {
  drain: 'takes no new responses in ten seconds',
  open: 'takes new responses in ten seconds',
  remove: 'is removed. Every process leaves it within two seconds',
};

/** Does something with a cell, and says so. */
export function useCellAct() {
  const client = useQueryClient();
  return async (row: CellRow, asked: CellAct) => {
    const { cell } = await act<ChangedCell>('POST', `/cells/${encodeURIComponent(row.cell)}/${asked}`);
    notifyDone(`The cell ${cell} ${doneWords[asked]}.`);
    await client.invalidateQueries({ queryKey: ['/cells'] });
  };
}
