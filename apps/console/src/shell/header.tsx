import { ActionIcon } from '@mantine/core';
import { IconMenu2 } from '@tabler/icons-react';
import { useSession } from '../api/session.ts';
import { ActionTokenButton } from './action-token-button.tsx';
import { LiveIndicator } from './live-indicator.tsx';
import classes from './shell.module.css';
import { ThemeSwitch } from './theme-switch.tsx';

/** The bar above every page: which service this is, whether it is live, the theme, and whether this tab may act. */
export function Header({ onMenu }: { onMenu: () => void }) {
  const { data: session } = useSession();
  return (
    <header className={classes['header']}>
      <span className={classes['menu']}>
        <ActionIcon size="lg" aria-label="Open the navigation" onClick={onMenu}>
          <IconMenu2 size={20} />
        </ActionIcon>
      </span>
      <span className={classes['service']}>
        <span className={classes['host']}>{window.location.host}</span>
        {session !== undefined && <span>Sluice {session.version}</span>}
      </span>
      <LiveIndicator />
      <ThemeSwitch />
      <ActionTokenButton />
    </header>
  );
}
