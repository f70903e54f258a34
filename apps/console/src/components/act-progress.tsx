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

const refreshMs = 700;

/** How far an act on many responses is, until it is dismissed. */
export function ActProgress({ id, onClose }: { id: string; onClose: () => void }) {
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
