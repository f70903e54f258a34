import { createElement, type FunctionComponent, use } from 'react';

/** The code of a page could not be loaded: the service is away, or the console was built anew. */
export class PageNotLoadedError extends Error {
  override readonly name = 'PageNotLoadedError';
}

/**
 * A page that is loaded when it is opened or pointed at.
 *
 * Unlike the router's own, one that cannot be loaded does not reload the document: while the service is away that would leave
 * the browser's error page in place of the console. `PageFailed` waits for the service instead.
 */
export function lazyPage(
  load: () => Promise<FunctionComponent>,
): FunctionComponent & { preload: () => Promise<void> } {
  let page: FunctionComponent | undefined;
  let failure: PageNotLoadedError | undefined;
  let loading: Promise<void> | undefined;
  const preload = () => {
    failure = undefined;
    loading ??= load().then(
      (loaded) => {
        page = loaded;
      },
      (cause: unknown) => {
        failure = new PageNotLoadedError(String(cause), { cause });
        loading = undefined;
      },
    );
    return loading;
  };
  function LazyPage() {
    if (failure) throw failure;
    if (!page) use(loading ?? preload());
    return page && createElement(page);
  }
  return Object.assign(LazyPage, { preload });
}
