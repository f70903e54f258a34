import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from 'react';
import { actionToken } from '../api/action-token.ts';
import { AwayBanner } from './away-banner.tsx';
import { Header } from './header.tsx';
import { Navigation } from './navigation.tsx';
import classes from './shell.module.css';
import { useShortcuts } from './use-shortcuts.ts';

// Behind a button, so not part of the first page.
const ActionTokenDialog = lazy(async () => ({
  default: (await import('./action-token-dialog.tsx')).ActionTokenDialog,
}));
const ShortcutsDialog = lazy(async () => ({
  default: (await import('./shortcuts-dialog.tsx')).ShortcutsDialog,
}));
const NavigationDrawer = lazy(async () => ({
  default: (await import('./navigation-drawer.tsx')).NavigationDrawer,
}));

/** The frame of every page: the navigation, the header, and the dialog of the action token. */
export function Shell() {
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  useEffect(() => setDrawerOpen(false), [pathname]);
  const question = useSyncExternalStore(actionToken.subscribe, () => actionToken.question);
  const wantsDrawer = useOnceTrue(isDrawerOpen);
  const wantsDialog = useOnceTrue(question !== undefined);
  const [showsShortcuts, setShowsShortcuts] = useState(false);
  const wantsShortcuts = useOnceTrue(showsShortcuts);
  useShortcuts(() => setShowsShortcuts(true));
  return (
    <div className={classes['shell']}>
      <a className={classes['skip']} href="#main">
        Skip to the content
      </a>
      <aside className={classes['side']}>
        <Navigation />
      </aside>
      {wantsDrawer && (
        <Suspense>
          <NavigationDrawer isOpen={isDrawerOpen} onClose={() => setDrawerOpen(false)} />
        </Suspense>
      )}
      <div className={classes['column']}>
        <Header onMenu={() => setDrawerOpen(true)} />
        <main id="main" tabIndex={-1} className={classes['main']}>
          <AwayBanner />
          <Outlet />
        </main>
      </div>
      {wantsShortcuts && (
        <Suspense>
          <ShortcutsDialog isOpen={showsShortcuts} onClose={() => setShowsShortcuts(false)} />
        </Suspense>
      )}
      {wantsDialog && (
        <Suspense>
          <ActionTokenDialog />
        </Suspense>
      )}
    </div>
  );
}

/** Whether it has ever been true, so that a dialog can close with its transition. */
function useOnceTrue(isTrue: boolean): boolean {
  const [wasTrue, setWasTrue] = useState(isTrue);
  if (isTrue && !wasTrue) setWasTrue(true);
  return wasTrue || isTrue;
}
