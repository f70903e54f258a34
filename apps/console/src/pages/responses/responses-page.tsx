import { Alert, Button } from '@mantine/core';
import type { FacetField, Facets, ResponseSearch } from '@sluice/contract/admin';
import { IconArrowUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { adminQuery } from '../../api/query-client.ts';
import { ActProgress, actKeys } from '../../components/act-progress.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { EmptyState, ErrorState } from '../../components/states.tsx';
import { statusWords } from '../../components/status-badge.tsx';
import { useMinute } from '../../components/times.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { countOf, formatCount } from '../../format/numbers.ts';
import { ActOnAll } from './act-on-all.tsx';
import { IndexNote } from './index-note.tsx';
import classes from './responses.module.css';
import { modeWords, rowColumns } from './row-columns.tsx';
import { newestIndex } from './newest-index.ts';
import { filterOf, isWholeId, narrows, rowFilterKeys, searchOf, spanOf, spans } from './row-search.ts';
import { isAtTop, useRows } from './use-rows.ts';

const facetLabels: readonly [FacetField, string][] = [
  ['status', 'Status'],
  ['model', 'Model'],
  ['tenant', 'Tenant'],
  ['mode', 'Mode'],
  ['tier', 'Tier'],
  ['error_code', 'Error'],
];
const words: Readonly<Record<string, string>> = { ...statusWords, ...modeWords };

/** Every response of every tenant: searched, filtered, and kept up to date. */
export function ResponsesPage() {
  const filters = useFilters(rowFilterKeys);
  const acts = useFilters(actKeys);
  const filter = useFilter(filters.values);
  const rows = useRows(filter);
  const facets = useQuery({
    ...adminQuery<Facets>('/responses/facets', filter),
    placeholderData: (before) => before,
    refetchInterval: 10_000,
  });
  const fields = facetLabels.map(([key, label]) => ({
    key,
    label,
    allowsOther: key === 'tenant' || key === 'error_code',
    options: (facets.data?.fields[key] ?? []).map(({ value, count }) => ({
      value,
      label: words[value] ?? value,
      count,
    })),
  }));
  return (
    <>
      <PageHeader
        title="Responses"
        description="The responses of all tenants, newest first. Prompts and answers are not searched."
        actions={
          // One response that was looked up is acted on where it is shown.
          filter.request_id === undefined && (
            <ActOnAll
              filter={() => filterOf(filters.values, Date.now())}
              span={spanOf(filters.values)?.label}
              total={rows.total ?? 0}
              onStarted={({ id }) => acts.set('act', [id])}
            />
          )
        }
      />
      <ActProgress />
      <FilterBar
        filters={filters}
        fields={[{ key: 'since', label: 'Time', options: spans, allowsOne: true }, ...fields]}
        end={rows.total !== undefined && <span role="status">{countOf(rows.total, 'response')}</span>}
      >
        <Search filters={filters} />
      </FilterBar>
      <IndexNote index={newestIndex(rows.index, facets.data?.index)} />
      {rows.fresh.length > 0 && <FreshRows count={rows.fresh.length} onShow={rows.showFresh} />}
      <Panel padded={false}>
        {rows.error !== undefined && rows.shown.length === 0 ? (
          <ErrorState error={rows.error} onRetry={rows.reload} />
        ) : (
          <Table
            rows={rows}
            hasFilters={narrows(filter)}
            request={filters.text('request_id')}
            onClear={filters.clear}
          />
        )}
      </Panel>
      {rows.error !== undefined && rows.shown.length > 0 && (
        <Alert color="red" title="Older responses could not be read" mt="md">
          <Button variant="default" size="compact-sm" onClick={rows.reload}>
            Read the list again
          </Button>
        </Alert>
      )}
    </>
  );
}

function FreshRows({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <div className={classes['fresh']}>
      <Button size="compact-md" radius="xl" leftSection={<IconArrowUp size={15} />} onClick={onShow}>
        {formatCount(count)} new
      </Button>
    </div>
  );
}

interface TableProps {
  rows: ReturnType<typeof useRows>;
  hasFilters: boolean;
  /** The id of the request that was looked for. */
  request: string;
  onClear: () => void;
}

function Table({ rows, hasFilters, request, onClear }: TableProps) {
  const navigate = useNavigate();
  return (
    <DataTable
      label="Responses"
      columns={rowColumns}
      rows={rows.shown}
      rowKey={({ id }) => id}
      total={rows.total ?? rows.shown.length}
      isLoading={rows.isLoading}
      onOpen={({ id }) => void navigate({ to: '/responses/$id', params: { id } })}
      onEnd={rows.loadMore}
      empty={
        hasFilters ? (
          <EmptyState
            title="No response matches"
            action={
              <Button variant="default" onClick={onClear}>
                Clear filters
              </Button>
            }
          >
            {request === '' ? howMatched : noResponse}
          </EmptyState>
        ) : (
          rows.index?.state !== 'off' && (
            <EmptyState title="No response yet">
              Send one to the API, or try one in the playground. It appears here at once.
            </EmptyState>
          )
        )
      }
    />
  );
}

const howMatched =
  'Ids are matched from their beginning, metadata exactly, as key:value. Prompts and answers are not searched.';

/** An error that was looked up by its request, and led to no response. */
const noResponse =
  'No response was created by a request of this id, or the journal no longer has it. A request that was refused creates none: look for its id in the log of the apis.';

/** The search box: a whole id opens its response. */
function Search({ filters }: { filters: ReturnType<typeof useFilters> }) {
  const navigate = useNavigate();
  const text = filters.text('metadata') || filters.text('request_id') || filters.text('id');
  return (
    <SearchBox
      label="Search responses by their id, that of their request, or metadata"
      placeholder="Id, req_…, or key:value"
      value={text}
      fault={(typed) => (searchOf(typed) ? undefined : notSearched)}
      onChange={(typed) => {
        if (isWholeId(typed)) {
          void navigate({ to: '/responses/$id', params: { id: typed.trim() } });
          return;
        }
        const search = searchOf(typed);
        if (search) filters.type(search);
      }}
    />
  );
}

/** Shown for a text that cannot be searched for. */
const notSearched =
  'Only ids and metadata are searched, not prompts and answers: an id of a response or request, or key:value.';

/**
 * The filter of the address. It stays the same object as long as its content does. A span is counted back from the present
 * minute, but the list does not change for that while its reader is further down.
 */
function useFilter(values: ReturnType<typeof useFilters>['values']): ResponseSearch {
  const key = JSON.stringify(values);
  const minute = useMinute();
  const [counted, setCounted] = useState({ key, minute });
  if (counted.key !== key || (counted.minute !== minute && isAtTop())) setCounted({ key, minute });
  const filter = JSON.stringify(filterOf(values, counted.minute));
  return useMemo(() => JSON.parse(filter) as ResponseSearch, [filter]); // As `filterOf` made it.
}
