import type { QueueList, QueueSwitch } from '@sluice/contract/admin';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { adminQuery } from '../../api/query-client.ts';
import { act } from '../../api/request.ts';
import { notifyDone, notifyFailed } from '../../components/notify.ts';

const key = adminQuery<QueueList>('/queues').queryKey;

/** Pauses or resumes a queue, and shows it so at once. */
export function useSwitchQueue(to: 'pause' | 'resume') {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (queue: string) => act<QueueSwitch>('POST', `/queues/${encodeURIComponent(queue)}/${to}`),
    onSuccess: async ({ queue, paused }) => {
      notifyDone(paused ? `The queue ${queue} is paused.` : `The queue ${queue} is open again.`);
      await client.cancelQueries({ queryKey: key });
      client.setQueryData<QueueList>(key, (list) =>
        list === undefined
          ? undefined
          : { ...list, data: list.data.map((each) => (each.queue === queue ? { ...each, paused } : each)) },
      );
      await client.invalidateQueries({ queryKey: key });
    },
    onError: (error, queue) => {
      if (to === 'resume') notifyFailed(`The queue ${queue} was not resumed`, error);
    },
  });
}
