import { Button } from '@mantine/core';
import type { Act } from '@sluice/contract/admin';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { adminQuery } from '../api/query-client.ts';
import { act } from '../api/request.ts';
import classes from './act-progress.module.css';
import { actNote, actTitle, actTone } from './act-words.ts';
import { notifyFailed } from './notify.ts';
import { ProgressBanner } from './progress-banner.tsx';
import { describeError } from './states.tsx';
import { useFilters } from './use-filters.ts';

const refreshMs = 700;

/** The parameter of the address that names the act whose progress is shown. */
export const actKeys = ['act'] as const;

/** How far the act on many responses is that the address names, until it is dismissed; nothing when it names none. */
export function ActProgress() {
  const filters = useFilters(actKeys);
  const id = filters.text('act');
  return id === '' ? null : <Progress key={id} id={id} onClose={() => filters.set('act', [])} />;
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const client = useQueryClient();
  const query = adminQuery<Act>(`/acts/${encodeURIComponent(id)}`);
  const { data, error } = useQuery({
    ...query,
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.state === 'running' ? refreshMs : false,
  });
  const stop = useMutation({
    mutationFn: () => act<Act>('POST', `/acts/${encodeURIComponent(id)}/stop`),
    onSuccess: (stopped) => client.setQueryData(query.queryKey, stopped),
    onError: (failure) => notifyFailed('It was not stopped', failure),
  });
  const dismiss = (
    <Button variant="subtle" color="gray" size="compact-sm" onClick={onClose}>
      Dismiss
    </Button>
  );
  if (data === undefined) {
    if (error === null) return null;
    return (
      <p className={classes['lost']} role="status">
        How far it is cannot be said: {describeError(error).title} {dismiss}
      </p>
    );
  }
  return (
    <ProgressBanner
      title={actTitle(data)}
      done={data.done + data.skipped + data.failed}
      total={data.total}
      tone={actTone(data)}
      note={actNote(data)}
      actions={
        data.state === 'running' ? (
          <Button variant="default" size="compact-sm" loading={stop.isPending} onClick={() => stop.mutate()}>
            Stop
          </Button>
        ) : (
          dismiss
        )
      }
    />
  );
}
