import { Button, Menu } from '@mantine/core';
import type { Act, ResponseFilter, StartAct } from '@sluice/contract/admin';
import { IconChevronDown, IconPlayerStop, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { act } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useLast } from '../../components/use-last.ts';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { formatCount } from '../../format/numbers.ts';

interface ActOnAllProps {
  /** The filter that is acted on, with a span counted back from the moment of the call. */
  filter: () => ResponseFilter;
  /** The span of time in words, such as "Last hour"; undefined when it is not limited. */
  span: string | undefined;
  /** How many match. */
  total: number;
  hasFilters: boolean;
  onStarted: (started: Act) => void;
}

/** The chosen act and the number of responses, as they were when it was chosen. */
type Wanted = StartAct;

const verbs = { cancel: 'Cancel', retry: 'Retry' } as const;

/** Does something with every response that matches the filters, after it has said how many they are. */
export function ActOnAll({ filter, span, total, hasFilters, onStarted }: ActOnAllProps) {
  const [wanted, setWanted] = useState<Wanted>();
  const unlocked = useUnlocked();
  const choose = (action: Wanted['action']) =>
    unlocked(() => setWanted({ action, filter: filter(), expected: total }));
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={14} />} disabled={total === 0}>
            Act on all {formatCount(total)}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPlayerStop size={16} />} color="red" onClick={() => choose('cancel')}>
            Cancel those that have not ended
          </Menu.Item>
          <Menu.Item leftSection={<IconRefresh size={16} />} onClick={() => choose('retry')}>
            Retry all that have ended, completed ones too
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        wanted={wanted}
        span={span}
        hasFilters={hasFilters}
        onClose={() => setWanted(undefined)}
        onStarted={onStarted}
      />
    </>
  );
}

interface ConfirmProps {
  wanted: Wanted | undefined;
  span: string | undefined;
  hasFilters: boolean;
  onClose: () => void;
  onStarted: (started: Act) => void;
}

function Confirm({ wanted, span, hasFilters, onClose, onStarted }: ConfirmProps) {
  const shown = useLast(wanted);
  if (shown === undefined) return null;
  const count = `${formatCount(shown.expected)} ${shown.expected === 1 ? 'response' : 'responses'}`;
  const start = async () => onStarted(await act<Act>('POST', '/acts', { body: shown }));
  return (
    <ConfirmDialog
      isOpen={wanted !== undefined}
      onClose={onClose}
      title={`${verbs[shown.action]} ${count}?`}
      action={`${verbs[shown.action]} ${count}`}
      isDangerous={shown.action === 'cancel'}
      onConfirm={start}
      {...(!hasFilters && { mustType: 'everything' })}
    >
      <p>
        {hasFilters ? 'All that match the filters' : 'Every response of every tenant'}
        {span !== undefined && ` and were accepted in the ${span.toLowerCase()}`}: <strong>{count}</strong> at
        the moment. If more match by then, nothing is done and you are asked again.
      </p>
      <p>
        {shown.action === 'cancel'
          ? 'Those that wait or run are cancelled, and their callers are told. Those that have ended are skipped.'
          : 'Each that has ended is created again, in the background, within the limits of its tenant. Those that are open are skipped.'}
      </p>
    </ConfirmDialog>
  );
}
