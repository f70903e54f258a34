import type { ProviderRow } from '@sluice/contract/admin';
import { RowActs } from '../../components/row-acts.tsx';
import type { SmallColumn } from '../../components/small-table.tsx';
import { ToneBadge } from '../../components/tone-badge.tsx';
import { formatCount } from '../../format/numbers.ts';
import classes from './models.module.css';

export interface ProviderActions {
  onChange: (provider: ProviderRow) => void;
  onRemove: (provider: ProviderRow) => void;
}

/** The columns of the list of providers. */
export function providerColumns({
  onChange,
  onRemove,
}: ProviderActions): readonly SmallColumn<ProviderRow>[] {
  return [
    { key: 'id', header: 'Provider', grows: true, cell: ({ id }) => <bdi title={id}>{id}</bdi> },
    {
      key: 'origin',
      header: 'From',
      hideBelow: 'sm',
      cell: ({ origin }) => (
        <ToneBadge tone={origin === 'stored' ? 'good' : 'quiet'}>
          {origin === 'stored' ? 'stored' : 'settings file'}
        </ToneBadge>
      ),
    },
    { key: 'type', header: 'Type', hideBelow: 'md', cell: ({ type }) => type },
    {
      key: 'servers',
      header: 'Servers',
      hideBelow: 'sm',
      cell: ({ servers }) => (
        <span className={classes['servers']} title={servers.join('\n')}>
          {servers.join(', ')}
        </span>
      ),
    },
    {
      key: 'key',
      header: 'Key in',
      hideBelow: 'md',
      cell: ({ key_variable: variable }) => variable !== null && <code>{variable}</code>,
    },
    {
      key: 'models',
      header: 'Models',
      align: 'end',
      hideBelow: 'sm',
      cell: ({ models }) => formatCount(models),
    },
    {
      key: 'acts',
      header: <span className="visually-hidden">Change or remove</span>,
      align: 'end',
      cell: (provider) =>
        provider.origin === 'stored' && (
          <RowActs
            name={provider.id}
            acts={[
              ['Change', () => onChange(provider)],
              ['Remove', () => onRemove(provider)],
            ]}
          />
        ),
    },
  ];
}
