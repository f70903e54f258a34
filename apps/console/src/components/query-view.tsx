import { IconCloudOff } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import classes from './query-view.module.css';
import { describeError, ErrorState, LoadingState } from './states.tsx';
import { Moment } from './times.tsx';

type Query<T> = Pick<UseQueryResult<T>, 'data' | 'error' | 'failureReason' | 'dataUpdatedAt' | 'refetch'>;

interface QueryViewProps<T> {
  query: Query<T>;
  children: (data: T) => ReactNode;
}

/**
 * Shows the data of a query. Without data it says that it is reading, or why it cannot. Data that cannot be renewed stays,
 * and a line above says how old it is.
 */
export function QueryView<T>({ query, children }: QueryViewProps<T>) {
  const { data, error, failureReason, dataUpdatedAt, refetch } = query;
  const failure = error ?? failureReason;
  if (data === undefined) {
    return failure === null ? (
      <LoadingState />
    ) : (
      <ErrorState error={failure} onRetry={() => void refetch()} />
    );
  }
  return (
    <>
      {error !== null && (
        <p className={classes['stale']} role="status">
          <IconCloudOff size={16} aria-hidden />
          <span>
            {sentence(describeError(error).title)} This was read <Moment at={dataUpdatedAt} />.
          </span>
        </p>
      )}
      {children(data)}
    </>
  );
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
