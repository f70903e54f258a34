import type { QueueOverview } from '@sluice/contract/admin';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useLast } from '../../components/use-last.ts';
import { formatCount } from '../../format/numbers.ts';
import { useSwitchQueue } from './use-switch-queue.ts';

interface PauseDialogProps {
  /** The queue that is asked about; the dialog is closed without one. */
  queue: QueueOverview | undefined;
  onClose: () => void;
}

/** Asks before a queue is paused. */
export function PauseDialog({ queue, onClose }: PauseDialogProps) {
  const pause = useSwitchQueue('pause');
  const shown = useLast(queue);
  if (shown === undefined) return null;
  return (
    <ConfirmDialog
      isOpen={queue !== undefined}
      onClose={onClose}
      title={`Pause ${shown.queue}?`}
      action="Pause the queue"
      isDangerous={false}
      onConfirm={() => pause.mutateAsync(shown.queue)}
    >
      No worker takes from it until it is resumed. What runs goes on ({formatCount(shown.active)}). What waits
      keeps waiting ({formatCount(shown.waiting)}), and so does what comes.
    </ConfirmDialog>
  );
}
