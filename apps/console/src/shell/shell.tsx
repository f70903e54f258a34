import { Drawer } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ActionTokenDialog } from './action-token-dialog.tsx';
import { Header } from './header.tsx';
import { Navigation } from './navigation.tsx';
import classes from './shell.module.css';
import { useShortcuts } from './use-shortcuts.ts';

/** What is around every page: the navigation, the header, and the dialog of the action token. */
export function Shell() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(close, [pathname, close]);
  useShortcuts();
  return (
    <div className={classes['shell']}>
      <a className={classes['skip']} href="#main">
        Skip to the content
      </a>
      <aside className={classes['side']}>
        <Navigation />
      </aside>
      <Drawer
        opened={isOpen}
        onClose={close}
        size={260}
        title="Sluice"
        closeButtonProps={{ 'aria-label': 'Close the navigation' }}
      >
        <Navigation inDrawer />
      </Drawer>
      <div className={classes['column']}>
        <Header onMenu={open} />
        <main id="main" tabIndex={-1} className={classes['main']}>
          <Outlet />
        </main>
      </div>
      <ActionTokenDialog />
    </div>
  );
}
