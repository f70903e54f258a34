import { Link } from '@tanstack/react-router';
import cellLink from '../../components/cell-link.module.css';
import type { Column } from '../../components/data-table.tsx';
import { Moment } from '../../components/times.tsx';
import { StateBadge, type StateWords } from '../../components/tone-badge.tsx';
import { actionWords, type AuditRow, targetOf } from './audit-rows.ts';

export const outcomeWords: Record<AuditRow['outcome'], StateWords> = {
  done: ['good', 'Done', 'It was done'],
  refused: ['warn', 'Refused', 'The service said no, and nothing was changed'],
  failed: ['bad', 'Failed', 'It went wrong; part of it may have been done'],
  asked: ['quiet', 'No outcome', 'It is under way, or its process died before it could record the outcome'],
};

export const auditColumns: readonly Column<AuditRow>[] = [
  { key: 'at', header: 'When', width: '6rem', cell: ({ at }) => <Moment at={at} /> },
  {
    key: 'action',
    header: 'What',
    width: 'minmax(7rem, 1.4fr)',
    cell: ({ action }) => <span title={action}>{actionWords(action)}</span>,
  },
  {
    key: 'target',
    header: 'Of',
    width: 'minmax(7rem, 2fr)',
    hideBelow: 'sm',
    cell: (row) => <Target row={row} />,
  },
  {
    key: 'outcome',
    header: 'Outcome',
    width: '8.25rem',
    cell: ({ outcome }) => <StateBadge words={outcomeWords[outcome]} />,
  },
  {
    key: 'detail',
    header: 'Detail',
    width: 'minmax(6rem, 1.4fr)',
    hideBelow: 'md',
    cell: ({ detail }) => <span title={detail ?? undefined}>{detail}</span>,
  },
  {
    key: 'address',
    header: 'From',
    width: '9rem',
    hideBelow: 'md',
    cell: ({ address }) => <code title={address}>{address}</code>,
  },
];

function Target({ row }: { row: AuditRow }) {
  const target = targetOf(row);
  switch (target.kind) {
    case 'response':
      return (
        <Link className={cellLink['link']} to="/responses/$id" params={{ id: target.id }} title={target.id}>
          <code>{target.id}</code>
        </Link>
      );
    case 'filter':
      return (
        <Link className={cellLink['link']} to="/responses" search={target.search} title={target.text}>
          {target.text}
        </Link>
      );
    case 'queue':
      return (
        <Link className={cellLink['link']} to="/queues" search={{ q: [target.text] }} title={target.text}>
          {target.text}
        </Link>
      );
    case 'tenant':
      return (
        <Link className={cellLink['link']} to="/keys" search={{ tenant: [target.text] }} title={target.text}>
          <bdi>{target.text}</bdi>
        </Link>
      );
    case 'text':
      return <span title={target.text}>{target.text}</span>;
  }
}
