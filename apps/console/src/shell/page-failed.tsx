import type { ErrorComponentProps } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { UnreachableError } from '../api/api-error.ts';
import { reachability } from '../api/reachability.ts';
import { PageHeader } from '../components/page-header.tsx';
import { ErrorState } from '../components/states.tsx';
import { PageNotLoadedError } from './lazy-page.ts';

/** Shown in place of a page that threw, or that could not be loaded. */
export function PageFailed({ error, reset }: ErrorComponentProps) {
  return error instanceof PageNotLoadedError ? (
    <PageNotLoaded error={error} />
  ) : (
    <ErrorState error={error} onRetry={reset} />
  );
}

/** How often it is asked whether the service is back, in milliseconds. */
const askEveryMs = 2_000;

/** A document that was loaded anew and lacks the page again is not loaded once more within this time, in milliseconds. */
const reloadEveryMs = 30_000;

const reloadedAtKey = 'sluice-page-reloaded-at';

/**
 * Waits for the service, and then loads the document anew: a browser may remember that a part of it could not be loaded, and a
 * console that was built anew has other parts.
 */
function PageNotLoaded({ error }: { error: PageNotLoadedError }) {
  const [isAway, setAway] = useState(true);
  const ask = useCallback(async () => {
    const answers = await fetch(window.location.href, { method: 'HEAD', cache: 'no-store' }).then(
      () => true,
      () => false,
    );
    reachability.set(answers);
    setAway(!answers);
    if (!answers || Date.now() - Number(sessionStorage.getItem(reloadedAtKey)) < reloadEveryMs) return;
    sessionStorage.setItem(reloadedAtKey, String(Date.now()));
    window.location.reload();
  }, []);
  useEffect(() => {
    void ask();
    const timer = setInterval(() => void ask(), askEveryMs);
    return () => clearInterval(timer);
  }, [ask]);
  return (
    <>
      <PageHeader title={isAway ? 'Waiting for the service' : 'Not loaded'} />
      {isAway ? (
        <ErrorState error={new UnreachableError(error)} onRetry={() => void ask()} />
      ) : (
        <ErrorState error={error} onRetry={() => window.location.reload()} />
      )}
    </>
  );
}
