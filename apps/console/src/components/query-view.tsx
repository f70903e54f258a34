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
 * What a query has read. While there is nothing it says that it is reading, or why it cannot; once there is something that stays,
 * and a line above it says when it is old.
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
            {sentence(describeError(error).title)} What is shown was read <Moment at={dataUpdatedAt} />.
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
