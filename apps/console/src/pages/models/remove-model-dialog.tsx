import { Radio, Stack } from '@mantine/core';
import type { ModelRow, RemovedModel } from '@sluice/contract/admin';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { act } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { showNotice } from '../../components/notices.tsx';
import { notifyDone } from '../../components/notify.ts';
import { useLast } from '../../components/use-last.ts';
import { formatCount } from '../../format/numbers.ts';

interface RemoveModelDialogProps {
  /** The stored model that is asked about; the dialog is closed without one. */
  shown: ModelRow | undefined;
  onClose: () => void;
}

/** Asks before a stored model is taken away, and what is to become of what waits for it. */
export function RemoveModelDialog({ shown, onClose }: RemoveModelDialogProps) {
  const client = useQueryClient();
  const [queue, setQueue] = useState<'keep' | 'drain'>('keep');
  const model = useLast(shown);
  if (model === undefined) return null;
  const close = () => {
    setQueue('keep');
    onClose();
  };
  const remove = async () => {
    const { id, error } = await act<RemovedModel>('POST', `/models/${encodeURIComponent(model.id)}/remove`, {
      body: { queue },
    });
    if (error) notifyUndrained(id, { queue: model.queue, error });
    else notifyDone(`The model ${id} is removed.`);
    await client.invalidateQueries({ queryKey: ['/models'] });
  };
  const waiting = `${formatCount(model.waiting)} ${model.waiting === 1 ? 'response waits' : 'responses wait'}`;
  return (
    <ConfirmDialog
      isOpen={shown !== undefined}
      onClose={close}
      title={`Remove ${model.id}?`}
      action="Remove the model"
      onConfirm={remove}
    >
      <p>Requests that name it are refused from now on. In its queue, {waiting}. What runs goes on.</p>
      <Radio.Group
        label="What waits"
        value={queue}
        onChange={(to) => setQueue(to === 'drain' ? 'drain' : 'keep')}
      >
        <Stack gap="xs" mt="xs">
          <Radio value="keep" label="is served to its end" />
          <Radio value="drain" label="is cancelled, and its callers are told" />
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  );
}

function notifyUndrained(id: string, { queue, error }: { queue: string; error: string }): void {
  const title = `The model ${id} is removed, and what waits for it is served.`;
  const message = `It could not be cancelled (${error}); drain its queue, ${queue}, on the page Queues.`;
  void showNotice({ title, message, color: 'red', autoClose: false, role: 'alert' });
}
