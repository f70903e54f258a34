import type { CellRow } from '@sluice/contract/admin';
import type { Column } from '../../components/data-table.tsx';
import { RowActs } from '../../components/row-acts.tsx';
import { Moment, useNow } from '../../components/times.tsx';
import { StateBadge } from '../../components/tone-badge.tsx';
import { formatBytes, formatCount, unknown } from '../../format/numbers.ts';
import { actsOf, type CellAct, origins, states } from './cell-state.ts';
import classes from './cells.module.css';

const actWords: Record<CellAct, string> = { drain: 'Drain', open: 'Open', remove: 'Remove' };

/** The columns of the list of cells; `onAct` is called with what somebody wants to do with one of them. */
export function cellColumns(
  rows: readonly CellRow[],
  onAct: (act: CellAct, row: CellRow) => void,
): readonly Column<CellRow>[] {
  return [
    { key: 'cell', header: 'Cell', width: '2.75rem', cell: ({ cell }) => <code>{cell}</code> },
    {
      key: 'address',
      header: 'Address',
      width: 'minmax(6rem, 4fr)',
      hideBelow: 'sm',
      cell: ({ address }) => <span title={address ?? undefined}>{address ?? unknown}</span>,
    },
    {
      key: 'origin',
      header: 'From',
      width: '5.5rem',
      hideBelow: 'lg',
      cell: ({ origin }) => (origin === null ? unknown : origins[origin]),
    },
    {
      key: 'state',
      header: 'State',
      // Less on a small phone, which has room for two buttons beside it.
      width: 'minmax(min(7.75rem, 18vw), 1fr)',
      cell: ({ state }) => <StateBadge words={states[state]} isBreathing={state === 'joining'} />,
    },
    ...figures,
    {
      key: 'acts',
      header: <span className="visually-hidden">Drain, open or remove</span>,
      width: '10rem',
      align: 'end',
      cell: (row) => (
        <RowActs
          name={`cell ${row.cell}`}
          acts={actsOf(row, rows).map((act) => [actWords[act], () => onAct(act, row)])}
        />
      ),
    },
  ];
}

const figures: readonly Column<CellRow>[] = [
  {
    key: 'open',
    header: <span title="Responses without an end">Unfinished</span>,
    width: '5.75rem',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ open }) => formatCount(open),
  },
  {
    key: 'waiting',
    header: 'Waiting',
    width: '4.75rem',
    align: 'end',
    hideBelow: 'lg',
    cell: ({ waiting }) => formatCount(waiting),
  },
  {
    key: 'memory',
    header: 'Memory',
    width: '5.25rem',
    align: 'end',
    hideBelow: 'lg',
    cell: ({ used_memory_bytes: bytes }) => formatBytes(bytes),
  },
  {
    key: 'goes',
    header: 'May go',
    width: '4.75rem',
    align: 'end',
    hideBelow: 'md',
    cell: ({ may_go_at: at }) => <MayGo at={at} />,
  },
];

function MayGo({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return <span className={classes['quiet']}>{unknown}</span>;
  const moment = Date.parse(at);
  return moment <= now ? 'now' : <Moment at={moment} />;
}
