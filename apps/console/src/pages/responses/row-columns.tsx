import type { ResponseRow } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import type { Column } from '../../components/data-table.tsx';
import { IdText } from '../../components/id-text.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Duration, Moment, useNow } from '../../components/times.tsx';
import { formatCompact } from '../../format/numbers.ts';
import classes from './responses.module.css';
import { ranMs, waitedMs } from './row-times.ts';

export const rowColumns: readonly Column<ResponseRow>[] = [
  { key: 'status', header: 'Status', width: '7.5rem', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'id',
    header: 'Response',
    width: 'minmax(8.5rem, 1fr)',
    cell: ({ id }) => (
      <IdText
        id={id}
        of="response"
        short
        wrap={(text) => (
          <Link className={classes['link']} to="/responses/$id" params={{ id }}>
            {text}
          </Link>
        )}
      />
    ),
  },
  {
    key: 'tenant',
    header: 'Tenant',
    width: 'minmax(5rem, 1.2fr)',
    hideBelow: 'sm',
    cell: ({ tenant }) => <bdi title={tenant}>{tenant}</bdi>,
  },
  {
    key: 'model',
    header: 'Model',
    width: 'minmax(5rem, 1.2fr)',
    hideBelow: 'sm',
    cell: ({ model }) => <span title={model}>{model}</span>,
  },
  {
    key: 'mode',
    header: 'Mode',
    width: '6rem',
    hideBelow: 'lg',
    cell: ({ mode, tier }) => (
      <span>
        {modeWords[mode]}
        {tier !== 'default' && <span className={classes['tier']}>{tier}</span>}
      </span>
    ),
  },
  {
    key: 'accepted',
    header: 'Accepted',
    width: '5.25rem',
    align: 'end',
    hideBelow: 'sm',
    cell: ({ accepted_at: at }) => <Moment at={at} />,
  },
  {
    key: 'waited',
    header: 'Waited',
    width: '4.5rem',
    align: 'end',
    hideBelow: 'lg',
    cell: (row) => <Waited row={row} />,
  },
  {
    key: 'ran',
    header: 'Ran',
    width: '4.5rem',
    align: 'end',
    hideBelow: 'lg',
    cell: (row) => <Ran row={row} />,
  },
  {
    key: 'tokens',
    header: 'Tokens',
    width: '5rem',
    align: 'end',
    hideBelow: 'lg',
    cell: ({ input_tokens: input, output_tokens: output }) => (
      <span title="input, output">
        {input === null && output === null ? '–' : `${formatCompact(input)} → ${formatCompact(output)}`}
      </span>
    ),
  },
  {
    key: 'error',
    header: 'Error',
    width: 'minmax(7.5rem, 1.5fr)',
    hideBelow: 'md',
    cell: ({ error_code: code }) => code !== null && <code className={classes['code']}>{code}</code>,
  },
];

/** How the caller gets the response, in the words of the console. */
export const modeWords: Record<ResponseRow['mode'], string> = {
  whole: 'sync',
  stream: 'stream',
  background: 'background',
};

function Waited({ row }: { row: ResponseRow }) {
  return <Duration ms={waitedMs(row, useNow())} />;
}

function Ran({ row }: { row: ResponseRow }) {
  return <Duration ms={ranMs(row, useNow())} />;
}
