import { Button } from '@mantine/core';
import type { KeyReport } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import cellLink from '../../components/cell-link.module.css';
import type { Column } from '../../components/data-table.tsx';
import { Moment } from '../../components/times.tsx';
import { StateBadge } from '../../components/tone-badge.tsx';
import { states } from './key-state.ts';
import classes from './keys.module.css';

/** The columns of the list of keys; `onRevoke` asks about one. */
export function keyColumns(onRevoke: (key: KeyReport) => void): readonly Column<KeyReport>[] {
  return [
    {
      key: 'tenant',
      header: 'Tenant',
      width: 'minmax(4.5rem, 1.6fr)',
      cell: ({ tenant }) => (
        <Link className={cellLink['name']} to="/tenants" search={{ tenant: [tenant] }} title={tenant}>
          <bdi>{tenant}</bdi>
        </Link>
      ),
    },
    { key: 'key', header: 'Key', width: 'minmax(4.25rem, 1.4fr)', cell: (key) => <KeyName shown={key} /> },
    {
      key: 'state',
      header: 'State',
      width: '6.5rem',
      hideBelow: 'sm',
      cell: ({ state }) => <StateBadge words={states[state]} />,
    },
    {
      key: 'models',
      header: 'Models',
      width: 'minmax(6rem, 1.3fr)',
      hideBelow: 'md',
      cell: ({ models }) => (
        <span title={models.join(', ')}>{models.includes('*') ? 'all' : models.join(', ')}</span>
      ),
    },
    {
      key: 'created',
      header: 'Created',
      width: '6.5rem',
      align: 'end',
      hideBelow: 'md',
      cell: ({ created_at: at }) => <Moment at={at} />,
    },
    {
      key: 'ends',
      header: 'Expires',
      width: '7rem',
      align: 'end',
      hideBelow: 'sm',
      cell: ({ revoked_at: revoked, expires_at: expires }) =>
        revoked === null ? expires === null ? 'never' : <Moment at={expires} /> : <Moment at={revoked} />,
    },
    {
      key: 'revoke',
      header: <span className="visually-hidden">Revoke</span>,
      width: '5.5rem',
      align: 'end',
      cell: (key) => <Revoke shown={key} onRevoke={onRevoke} />,
    },
  ];
}

function KeyName({ shown: { id, ends_with: end, origin } }: { shown: KeyReport }) {
  if (origin === 'file') return <span className={classes['quiet']}>in the settings file</span>;
  return (
    <span className={classes['name']}>
      <code title="Its last characters">…{end}</code>
      <code className={classes['id']} title={id ?? undefined}>
        {id}
      </code>
    </span>
  );
}

function Revoke({ shown, onRevoke }: { shown: KeyReport; onRevoke: (key: KeyReport) => void }) {
  const { id, state, tenant, ends_with: end } = shown;
  if (state !== 'active') {
    const [, word] = states[state];
    // Shown if there is no room for the column of the state.
    return <span className={classes['inactive']}>{word}</span>;
  }
  if (id === null) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      aria-label={`Revoke the key of ${tenant} that ends with ${end}`}
      onClick={() => onRevoke(shown)}
    >
      Revoke
    </Button>
  );
}
