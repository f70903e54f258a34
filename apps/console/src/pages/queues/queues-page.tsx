import { Button } from '@mantine/core';
import type { QueueList, QueueOverview } from '@sluice/contract/admin';
import { IconExternalLink } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { adminQuery } from '../../api/query-client.ts';
import { ActProgress } from '../../components/act-progress.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { countOf } from '../../format/numbers.ts';
import { DrainDialog } from './drain-dialog.tsx';
import { PauseDialog } from './pause-dialog.tsx';
import { QueueCard } from './queue-card.tsx';
import classes from './queues.module.css';

const filterKeys = ['q'] as const;
const refreshMs = 2_000;

type Question = { kind: 'pause' | 'drain'; queue: string };

/** Every queue with its waiting and running responses, and the switches to pause, resume and drain it. */
export function QueuesPage() {
  const query = useQuery({ ...adminQuery<QueueList>('/queues'), refetchInterval: refreshMs });
  const filters = useFilters(filterKeys);
  const [question, setQuestion] = useState<Question>();
  const asked = query.data?.data.find(({ queue }) => queue === question?.queue);
  return (
    <>
      <PageHeader
        title="Queues"
        description="Responses wait here for a slot of a worker."
        actions={
          <Button component="a" href="/queues" variant="default" leftSection={<IconExternalLink size={16} />}>
            Raw jobs
          </Button>
        }
      />
      <ActProgress />
      <QueryView query={query}>
        {({ data }) => {
          const found = matching(data, filters.text('q'));
          return (
            <>
              <FilterBar filters={filters} fields={[]} end={countOf(found.length, 'queue')}>
                <SearchBox
                  label="Search queues and models"
                  value={filters.text('q')}
                  onChange={(q) => filters.type({ q })}
                />
              </FilterBar>
              {found.length === 0 ? (
                <EmptyState title={data.length === 0 ? 'There are no queues' : 'No queue matches'}>
                  {data.length === 0
                    ? 'The settings name no model.'
                    : 'Search for another name, or clear the search.'}
                </EmptyState>
              ) : (
                <ul className={classes['list']} aria-label="Queues">
                  {found.map((queue) => (
                    <QueueCard
                      key={queue.queue}
                      queue={queue}
                      onPause={() => setQuestion({ kind: 'pause', queue: queue.queue })}
                      onDrain={() => setQuestion({ kind: 'drain', queue: queue.queue })}
                    />
                  ))}
                </ul>
              )}
            </>
          );
        }}
      </QueryView>
      <PauseDialog
        queue={question?.kind === 'pause' ? asked : undefined}
        onClose={() => setQuestion(undefined)}
      />
      <DrainDialog
        queue={question?.kind === 'drain' ? asked : undefined}
        onClose={() => setQuestion(undefined)}
      />
    </>
  );
}

function matching(queues: readonly QueueOverview[], text: string): readonly QueueOverview[] {
  const wanted = text.trim().toLowerCase();
  return queues.filter(({ queue, models }) =>
    [queue, ...models].some((name) => name.toLowerCase().includes(wanted)),
  );
}
