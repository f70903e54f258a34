import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { actionToken } from '../api/action-token.ts';
import { AwayBanner } from './away-banner.tsx';
import { Header } from './header.tsx';
import { Navigation } from './navigation.tsx';
import classes from './shell.module.css';
import { usePart } from './use-part.ts';
import { useShortcuts } from './use-shortcuts.ts';

const loadTokenDialog = async () => (await import('./action-token-dialog.tsx')).ActionTokenDialog;
const loadShortcuts = async () => (await import('./shortcuts-dialog.tsx')).ShortcutsDialog;
const loadDrawer = async () => (await import('./navigation-drawer.tsx')).NavigationDrawer;

/** The frame of every page: the navigation, the header, and the dialog of the action token. */
export function Shell() {
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  useEffect(() => setDrawerOpen(false), [pathname]);
  const question = useSyncExternalStore(actionToken.subscribe, () => actionToken.question);
  const NavigationDrawer = usePart(isDrawerOpen, { load: loadDrawer, onFailed: () => setDrawerOpen(false) });
  const ActionTokenDialog = usePart(question !== undefined, {
    load: loadTokenDialog,
    onFailed: () => question?.answer(undefined),
  });
  const [showsShortcuts, setShowsShortcuts] = useState(false);
  const ShortcutsDialog = usePart(showsShortcuts, {
    load: loadShortcuts,
    onFailed: () => setShowsShortcuts(false),
  });
  useShortcuts(() => setShowsShortcuts(true));
  return (
    <div className={classes['shell']}>
      <a className={classes['skip']} href="#main">
        Skip to the content
      </a>
      <aside className={classes['side']}>
        <Navigation />
      </aside>
      {NavigationDrawer && <NavigationDrawer isOpen={isDrawerOpen} onClose={() => setDrawerOpen(false)} />}
      <div className={classes['column']}>
        <Header onMenu={() => setDrawerOpen(true)} />
        <main id="main" tabIndex={-1} className={classes['main']}>
          <AwayBanner />
          <Outlet />
        </main>
      </div>
      {ShortcutsDialog && (
        <ShortcutsDialog isOpen={showsShortcuts} onClose={() => setShowsShortcuts(false)} />
      )}
      {ActionTokenDialog && <ActionTokenDialog />}
    </div>
  );
}
