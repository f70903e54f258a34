import type { Overview } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import { Panel } from '../../components/panel.tsx';
import { type SmallColumn, SmallTable } from '../../components/small-table.tsx';
import { EmptyState } from '../../components/states.tsx';
import { Duration } from '../../components/times.tsx';
import { formatCompact, formatShare } from '../../format/numbers.ts';
import { FailedCount } from './failed-count.tsx';
import classes from './overview.module.css';

type ModelUse = Overview['models'][number];

const columns: readonly SmallColumn<ModelUse>[] = [
  {
    key: 'model',
    header: 'Model',
    grows: true,
    cell: ({ model }) => (
      <Link
        className={classes['link']}
        to="/responses"
        search={{ model: [model], since: ['1h'] }}
        title={model}
      >
        {model}
      </Link>
    ),
  },
  { key: 'accepted', header: 'Accepted', align: 'end', cell: ({ accepted }) => formatCompact(accepted) },
  {
    key: 'failed',
    header: 'Failed',
    align: 'end',
    cell: (model) => {
      const ended = model.failed + model.completed + model.incomplete;
      const share = ended === 0 ? null : model.failed / ended;
      return <FailedCount failed={model.failed} share={share} text={formatShare(share)} />;
    },
  },
  {
    key: 'p50',
    header: 'First token',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ first_token_p50_ms: ms }) => <Duration ms={ms} />,
  },
  {
    key: 'p99',
    header: 'p99',
    align: 'end',
    hideBelow: 'md',
    cell: ({ first_token_p99_ms: ms }) => <Duration ms={ms} />,
  },
  {
    key: 'output',
    header: 'Tokens out',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ output_tokens: tokens }) => formatCompact(tokens),
  },
];

export function ModelsPanel({ overview }: { overview: Overview }) {
  return (
    <Panel title="Models" note="of the last hour" padded={false}>
      {overview.models.length === 0 ? (
        <EmptyState title="No model was asked" />
      ) : (
        <SmallTable label="Models" columns={columns} rows={overview.models} rowKey={({ model }) => model} />
      )}
    </Panel>
  );
}
