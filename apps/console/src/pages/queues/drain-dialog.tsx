import type { Act, QueueOverview } from '@sluice/contract/admin';
import { useQueryClient } from '@tanstack/react-query';
import { adminQuery } from '../../api/query-client.ts';
import { act } from '../../api/request.ts';
import { actKeys } from '../../components/act-progress.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useFilters } from '../../components/use-filters.ts';
import { useLast } from '../../components/use-last.ts';
import { countOf } from '../../format/numbers.ts';

interface DrainDialogProps {
  /** The queue that is asked about; the dialog is closed without one. */
  queue: QueueOverview | undefined;
  onClose: () => void;
}

/** Asks before everything that waits in a queue is cancelled. The progress is then in the address of the page. */
export function DrainDialog({ queue, onClose }: DrainDialogProps) {
  const client = useQueryClient();
  const { set } = useFilters(actKeys);
  const shown = useLast(queue);
  if (shown === undefined) return null;
  const drain = async () => {
    const started = await act<Act>('POST', `/queues/${encodeURIComponent(shown.queue)}/drain`);
    client.setQueryData(adminQuery<Act>(`/acts/${started.id}`).queryKey, started);
    set('act', [started.id]);
  };
  const count = countOf(shown.waiting, 'response');
  return (
    <ConfirmDialog
      isOpen={queue !== undefined}
      onClose={onClose}
      title={`Drain ${shown.queue}?`}
      action={`Cancel ${count}`}
      mustType={shown.queue}
      onConfirm={drain}
    >
      <p>
        This cancels everything that waits: <strong>{count}</strong> at the moment, and what comes while it
        goes on. Their callers are told, and it cannot be undone. What runs goes on.
      </p>
      {!shown.paused && <p>Pause the queue first if nothing more is to start meanwhile.</p>}
    </ConfirmDialog>
  );
}
