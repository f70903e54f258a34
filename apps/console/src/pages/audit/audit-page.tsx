import { Button } from '@mantine/core';
import type { AuditList } from '@sluice/contract/admin';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { getJson } from '../../api/request.ts';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { EmptyState, LoadingState } from '../../components/states.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { formatCount } from '../../format/numbers.ts';
import { auditColumns, outcomeWords } from './audit-columns.tsx';
import { actionWords, auditRows } from './audit-rows.ts';

const filterKeys = ['action', 'outcome'] as const;
const pageSize = 200;
const refreshMs = 5_000;
/** Rows that a filter should find before somebody has to ask for more. */
const enough = 40;

const outcomeOptions = Object.entries(outcomeWords).map(([value, [, label]]) => ({ value, label }));

/** Everything that was changed or looked at with the action token, newest first. */
export function AuditPage() {
  const filters = useFilters(filterKeys);
  const query = useInfiniteQuery({
    queryKey: ['/audit'],
    queryFn: ({ pageParam, signal }) =>
      getJson<AuditList>('/audit', { limit: pageSize, after: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    // Read again while only the newest are shown; a reader further back is not disturbed.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : refreshMs),
  });
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const rows = useMemo(() => auditRows(data?.pages.flatMap((page) => page.data) ?? []), [data]);
  const { action: actions, outcome: outcomes } = filters.values;
  const shown = rows.filter(
    ({ action, outcome }) =>
      (actions === undefined || actions.includes(action)) &&
      (outcomes === undefined || outcomes.includes(outcome)),
  );
  const wantsMore = shown.length < enough && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (wantsMore) void fetchNextPage();
  }, [wantsMore, fetchNextPage]);
  const actionOptions = [...new Set(rows.map(({ action }) => action))]
    .map((value) => ({ value, label: actionWords(value) }))
    .toSorted((one, other) => one.label.localeCompare(other.label));
  return (
    <>
      <PageHeader
        title="Audit"
        description="Every change, and every look at prompts and answers, with the action token."
      />
      <QueryView query={query}>
        {() => (
          <>
            <FilterBar
              filters={filters}
              fields={[
                { key: 'action', label: 'Action', options: actionOptions },
                { key: 'outcome', label: 'Outcome', options: outcomeOptions },
              ]}
              end={`${formatCount(shown.length)}${hasNextPage ? ' so far' : ''}`}
            />
            <Panel padded={false}>
              <DataTable
                label="Audit log"
                columns={auditColumns}
                rows={shown}
                rowKey={({ id }) => id}
                onEnd={() => {
                  if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
                }}
                empty={
                  isFetchingNextPage ? undefined : (
                    <EmptyState title={rows.length === 0 ? 'Nothing was done yet' : 'Nothing matches'}>
                      {rows.length === 0
                        ? 'Each act with the action token is written here before it is done.'
                        : 'Change the filters, or clear them.'}
                    </EmptyState>
                  )
                }
              />
              {isFetchingNextPage && <LoadingState label="Looking further back" />}
              {isFetchNextPageError && (
                <EmptyState
                  title="Older entries could not be read"
                  action={
                    <Button variant="default" onClick={() => void fetchNextPage()}>
                      Try again
                    </Button>
                  }
                />
              )}
            </Panel>
          </>
        )}
      </QueryView>
    </>
  );
}
