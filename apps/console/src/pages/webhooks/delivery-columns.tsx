import { Button } from '@mantine/core';
import type { DeliveryRow } from '@sluice/contract/admin';
import { Link } from '@tanstack/react-router';
import cellLink from '../../components/cell-link.module.css';
import type { Column } from '../../components/data-table.tsx';
import { Moment } from '../../components/times.tsx';
import { StateBadge, type StateWords } from '../../components/tone-badge.tsx';
import { formatCount } from '../../format/numbers.ts';

export const states: Record<DeliveryRow['state'], StateWords> = {
  waiting: ['info', 'Waiting', 'It is sent, or tried again, when it is due'],
  active: ['info', 'Sending', 'A worker is sending it'],
  delivered: ['good', 'Delivered', 'The endpoint has taken it'],
  failed: ['bad', 'Given up', 'Every try has failed, or its endpoint is gone'],
};

/** The columns of the list of deliveries. */
export function deliveryColumns(onSend: (delivery: DeliveryRow) => void): readonly Column<DeliveryRow>[] {
  return [
    {
      key: 'added',
      header: 'When',
      width: '6rem',
      hideBelow: 'sm',
      cell: ({ added_at: at }) => <Moment at={at} />,
    },
    {
      key: 'event',
      header: 'Event',
      width: 'minmax(5rem, 1.2fr)',
      cell: ({ event }) => <span title={event}>{event}</span>,
    },
    {
      key: 'subject',
      header: 'Of',
      width: 'minmax(6rem, 1.6fr)',
      hideBelow: 'md',
      cell: (delivery) => <Subject delivery={delivery} />,
    },
    {
      key: 'tenant',
      header: 'Tenant',
      width: 'minmax(5rem, 1fr)',
      hideBelow: 'sm',
      cell: ({ tenant }) => <bdi title={tenant}>{tenant}</bdi>,
    },
    {
      key: 'state',
      header: 'State',
      width: '7.5rem',
      cell: ({ state }) => <StateBadge words={states[state]} />,
    },
    {
      key: 'tries',
      header: 'Tries',
      width: '4rem',
      align: 'end',
      hideBelow: 'md',
      cell: ({ tries }) => formatCount(tries),
    },
    {
      key: 'note',
      header: 'Last try',
      width: 'minmax(6rem, 1.2fr)',
      hideBelow: 'lg',
      cell: ({ note }) => <span title={note ?? undefined}>{note}</span>,
    },
    {
      key: 'send',
      header: <span className="visually-hidden">Send again</span>,
      width: '7rem',
      align: 'end',
      cell: (delivery) =>
        (delivery.state === 'delivered' || delivery.state === 'failed') && (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Send ${delivery.id} again`}
            onClick={() => onSend(delivery)}
          >
            Send again
          </Button>
        ),
    },
  ];
}

function Subject({ delivery: { event, subject } }: { delivery: DeliveryRow }) {
  if (!event.startsWith('response.')) return <code title={subject}>{subject}</code>;
  return (
    <Link className={cellLink['link']} to="/responses/$id" params={{ id: subject }} title={subject}>
      <code>{subject}</code>
    </Link>
  );
}
