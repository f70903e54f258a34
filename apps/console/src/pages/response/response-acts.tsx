import { Button, CopyButton } from '@mantine/core';
import type { ResponseDetail, Retried } from '@sluice/contract/admin';
import { IconCheck, IconPlayerStop, IconRefresh, IconTerminal2 } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { act } from '../../api/request.ts';
import { useSession } from '../../api/session.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { notifyDone, notifyFailed } from '../../components/notify.ts';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { isOpen } from '../responses/row-times.ts';
import { curlOf } from './curl.ts';

/** Buttons to cancel it while it is open, to try it again once it has ended, and to copy a command that reads it. */
export function ResponseActs({ detail: { row, is_kept: isKept } }: { detail: ResponseDetail }) {
  const { data: session } = useSession();
  return (
    <>
      <CopyButton value={curlOf(session?.api_url ?? '', row.id)}>
        {({ copied, copy }) => (
          <Button
            variant="default"
            leftSection={copied ? <IconCheck size={16} /> : <IconTerminal2 size={16} />}
            onClick={copy}
          >
            {copied ? 'Copied' : 'Copy as curl'}
          </Button>
        )}
      </CopyButton>
      {isOpen(row) && <Cancel id={row.id} />}
      {!isOpen(row) && isKept && <Retry id={row.id} />}
    </>
  );
}

function Cancel({ id }: { id: string }) {
  const [isAsking, setAsking] = useState(false);
  const unlocked = useUnlocked();
  const client = useQueryClient();
  const cancel = async () => {
    await act('POST', `/responses/${encodeURIComponent(id)}/cancel`);
    notifyDone('Its cancellation was requested.');
    await client.invalidateQueries({ queryKey: [`/responses/${encodeURIComponent(id)}`] });
  };
  return (
    <>
      <Button
        color="red"
        leftSection={<IconPlayerStop size={16} />}
        onClick={() => unlocked(() => setAsking(true))}
      >
        Cancel
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Cancel this response?"
        action="Cancel the response"
        onConfirm={cancel}
      >
        Its caller is told that it was cancelled. Its output so far is kept.
      </ConfirmDialog>
    </>
  );
}

function Retry({ id }: { id: string }) {
  const navigate = useNavigate();
  const retry = useMutation({
    mutationFn: () => act<Retried>('POST', `/responses/${encodeURIComponent(id)}/retry`),
    onSuccess: (retried) => {
      notifyDone('It was created again, in the background.');
      void navigate({ to: '/responses/$id', params: { id: retried.id } });
    },
    onError: (error) => notifyFailed('It was not created again', error),
  });
  return (
    <Button leftSection={<IconRefresh size={16} />} loading={retry.isPending} onClick={() => retry.mutate()}>
      Retry
    </Button>
  );
}
