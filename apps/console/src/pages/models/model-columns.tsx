import type { ModelRow } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import cellLink from '../../components/cell-link.module.css';
import type { Column } from '../../components/data-table.tsx';
import { RowActs } from '../../components/row-acts.tsx';
import { ToneBadge } from '../../components/tone-badge.tsx';
import { formatCount } from '../../format/numbers.ts';

const origins: Record<ModelRow['origin'], string> = {
  file: 'settings file',
  stored: 'stored',
  discovered: 'its upstream',
};

export interface ModelActions {
  onChange: (model: ModelRow) => void;
  onRemove: (model: ModelRow) => void;
}

/** The columns of the list of models. */
export function modelColumns({ onChange, onRemove }: ModelActions): readonly Column<ModelRow>[] {
  return [
    {
      key: 'id',
      header: 'Model',
      width: 'minmax(6rem, 1.6fr)',
      cell: ({ id }) => <bdi title={id}>{id}</bdi>,
    },
    {
      key: 'origin',
      header: 'From',
      width: '8rem',
      hideBelow: 'sm',
      cell: ({ origin }) => (
        <ToneBadge tone={origin === 'stored' ? 'good' : 'quiet'}>{origins[origin]}</ToneBadge>
      ),
    },
    {
      key: 'routes',
      header: 'Routes',
      width: 'minmax(6rem, 2fr)',
      hideBelow: 'md',
      cell: ({ id, routes }) => {
        const text = routes
          .map(({ provider, model }) => (model === id ? provider : `${provider}: ${model}`))
          .join(', ');
        return <span title={text}>{text}</span>;
      },
    },
    {
      key: 'queue',
      header: 'Queue',
      width: 'minmax(5rem, 1fr)',
      hideBelow: 'lg',
      cell: ({ queue }) => (
        <Link className={cellLink['link']} to="/queues" search={{ q: [queue] }} title={queue}>
          <bdi>{queue}</bdi>
        </Link>
      ),
    },
    {
      key: 'waiting',
      header: 'Waiting',
      width: '5.5rem',
      align: 'end',
      hideBelow: 'sm',
      cell: ({ waiting }) => formatCount(waiting),
    },
    {
      key: 'active',
      header: 'Running',
      width: '6rem',
      align: 'end',
      hideBelow: 'sm',
      cell: ({ active, concurrency }) =>
        concurrency === null ? formatCount(active) : `${formatCount(active)} of ${formatCount(concurrency)}`,
    },
    {
      key: 'acts',
      header: <span className="visually-hidden">Change or remove</span>,
      width: '11rem',
      align: 'end',
      cell: (model) =>
        model.origin === 'stored' && (
          <RowActs
            name={model.id}
            acts={[
              ['Change', () => onChange(model)],
              ['Remove', () => onRemove(model)],
            ]}
          />
        ),
    },
  ];
}
