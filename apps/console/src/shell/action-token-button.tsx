import { Button } from '@mantine/core';
import { IconLock, IconLockOpen } from '@tabler/icons-react';
import { actionToken } from '../api/action-token.ts';
import { useSession } from '../api/session.ts';
import classes from './shell.module.css';

/** Says whether this tab may change anything, and opens the dialog of the token. */
export function ActionTokenButton() {
  const { data: session } = useSession();
  const isOpen = session?.acting === 'open';
  const isOff = session?.acting === 'off';
  return (
    <Button
      variant={isOpen ? 'light' : 'default'}
      size="xs"
      className={classes['lock'] ?? ''}
      leftSection={isOpen ? <IconLockOpen size={15} /> : <IconLock size={15} />}
      aria-haspopup="dialog"
      onClick={() => void actionToken.request(isOff ? 'off' : 'asked')}
    >
      <span className={classes['word']}>{isOpen ? 'Unlocked' : isOff ? 'Read-only' : 'Locked'}</span>
    </Button>
  );
}
