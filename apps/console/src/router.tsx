import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, createRouter } from '@tanstack/react-router';
import { OverviewPage } from './pages/overview/overview-page.tsx';
import { overviewQuery } from './pages/overview/use-overview.ts';
import type { UrlSearch } from './components/use-filters.ts';
import { lazyPage } from './shell/lazy-page.ts';
import { NotFound } from './shell/not-found.tsx';
import { PageFailed } from './shell/page-failed.tsx';
import { Shell } from './shell/shell.tsx';

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>) => search as UrlSearch, // As `parseSearch` below makes it.
});
const parent = () => root;

/** A page that is a chunk of its own, loaded when it is opened or pointed at. */
const page = <Path extends string>(path: Path, load: Parameters<typeof lazyPage>[0]) =>
  createRoute({ getParentRoute: parent, path, component: lazyPage(load) });

const pages = [
  // The first page comes with the console.
  createRoute({
    getParentRoute: parent,
    path: '/',
    // Asked for while the page is being drawn.
    loader: ({ context }) => void context.client.prefetchQuery(overviewQuery),
    component: OverviewPage,
  }),
  page('/responses', async () => (await import('./pages/responses/responses-page.tsx')).ResponsesPage),
  page('/responses/$id', async () => (await import('./pages/response/response-page.tsx')).ResponsePage),
  page('/queues', async () => (await import('./pages/queues/queues-page.tsx')).QueuesPage),
  page('/models', async () => (await import('./pages/models/models-page.tsx')).ModelsPage),
  page('/tenants', async () => (await import('./pages/tenants/tenants-page.tsx')).TenantsPage),
  page('/usage', async () => (await import('./pages/usage/usage-page.tsx')).UsagePage),
  page('/keys', async () => (await import('./pages/keys/keys-page.tsx')).KeysPage),
  page('/webhooks', async () => (await import('./pages/webhooks/webhooks-page.tsx')).WebhooksPage),
  page('/cells', async () => (await import('./pages/cells/cells-page.tsx')).CellsPage),
  page('/playground', async () => (await import('./pages/playground/playground-page.tsx')).PlaygroundPage),
  page('/audit', async () => (await import('./pages/audit/audit-page.tsx')).AuditPage),
] as const;

export function createConsoleRouter(client: QueryClient) {
  return createRouter({
    routeTree: root.addChildren(pages),
    context: { client },
    basepath: '/console',
    defaultPreload: 'intent',
    defaultErrorComponent: PageFailed,
    defaultPendingMs: 150,
    scrollRestoration: true,
    parseSearch,
    stringifySearch,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

/** Reads a search as it stands: every parameter is a list of texts, `?status=failed&status=queued`. */
export function parseSearch(text: string): UrlSearch {
  const search: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(text)) (search[name] ??= []).push(value);
  return search;
}

export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(search)) {
    if (values === undefined) continue;
    for (const value of Array.isArray(values) ? values : [values]) query.append(name, String(value));
  }
  return query.size > 0 ? `?${query}` : '';
}
