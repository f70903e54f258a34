import { Button, Menu } from '@mantine/core';
import type { Act, ResponseFilter, ResponseRows, StartAct } from '@sluice/contract/admin';
import { IconChevronDown, IconPlayerStop, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { act, getJson } from '../../api/request.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { notifyDone, notifyFailed } from '../../components/notify.ts';
import { useLast } from '../../components/use-last.ts';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { countOf, formatCount } from '../../format/numbers.ts';
import { actEffect, actFilter, actLabel, actPart } from './act-filter.ts';
import { narrows } from './row-search.ts';

interface ActOnAllProps {
  /** The filter of the list, with a span counted back from the moment of the call. */
  filter: () => ResponseFilter;
  /** The span of time in words, such as "Last hour"; undefined when it is not limited. */
  span: string | undefined;
  /** How many match. */
  total: number;
  onStarted: (started: Act) => void;
}

/** The chosen act, the number of responses and what is said of them, as they were when it was chosen. The address may change since. */
interface Wanted {
  act: StartAct;
  hasFilters: boolean;
  span: string | undefined;
  /** The part of what the list shows that is acted on, in words; undefined when it is all of it. */
  part: string | undefined;
  effect: string;
}

const verbs = { cancel: 'Cancel', retry: 'Retry' } as const;

/**
 * Does something with every response that matches the filters, after it has said how many they are. Where no status is asked
 * for, each act takes those that it is for.
 */
export function ActOnAll({ filter, span, total, onStarted }: ActOnAllProps) {
  const [wanted, setWanted] = useState<Wanted>();
  const unlocked = useUnlocked();
  const shown = filter();
  const count = async (action: StartAct['action']) => {
    const asked = filter();
    const acted = actFilter(action, asked);
    try {
      const { total: expected } = await getJson<ResponseRows>('/responses', { ...acted, limit: 1 });
      if (expected === 0) return notifyDone(`There is no response to ${action}.`);
      const said = { part: actPart(action, asked), effect: actEffect(action, asked) };
      const hasFilters = narrows(asked);
      setWanted({ act: { action, filter: acted, expected }, hasFilters, span, ...said });
    } catch (error) {
      notifyFailed('The responses were not counted', error);
    }
  };
  const choose = (action: StartAct['action']) => unlocked(() => void count(action));
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
            {actLabel('cancel', shown)}
          </Menu.Item>
          <Menu.Item leftSection={<IconRefresh size={16} />} onClick={() => choose('retry')}>
            {actLabel('retry', shown)}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm wanted={wanted} onClose={() => setWanted(undefined)} onStarted={onStarted} />
    </>
  );
}

interface ConfirmProps {
  wanted: Wanted | undefined;
  onClose: () => void;
  onStarted: (started: Act) => void;
}

function Confirm({ wanted, onClose, onStarted }: ConfirmProps) {
  const shown = useLast(wanted);
  if (shown === undefined) return null;
  const { act: started, hasFilters, span, part, effect } = shown;
  const count = countOf(started.expected, 'response');
  const within = span === undefined ? '' : ` and were accepted in the ${span.toLowerCase()}`;
  const all = hasFilters ? `all that match the filters${within}` : 'the responses of all tenants';
  const start = async () => onStarted(await act<Act>('POST', '/acts', { body: started }));
  return (
    <ConfirmDialog
      isOpen={wanted !== undefined}
      onClose={onClose}
      title={`${verbs[started.action]} ${count}?`}
      action={`${verbs[started.action]} ${count}`}
      isDangerous={started.action === 'cancel'}
      onConfirm={start}
      {...(!hasFilters && { mustType: 'everything' })}
    >
      <p>
        {part === undefined ? `For ${all}` : `Of ${all}, those ${part}`}: <strong>{count}</strong> at the
        moment. If more match by then, nothing is done and you are asked again.
      </p>
      <p>{effect}</p>
    </ConfirmDialog>
  );
}
