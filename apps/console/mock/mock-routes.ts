import type { MockRoute } from './mock-route.ts';
import { overviewRoutes } from './overview.ts';
import { queueRoutes } from './queues.ts';
import { sessionRoutes } from './session.ts';
import { tenantRoutes } from './tenants.ts';

/** Every fake route. A page adds a file with its own, and a line here. */
export const mockRoutes: readonly MockRoute[] = [
  ...sessionRoutes,
  ...overviewRoutes,
  ...queueRoutes,
  ...tenantRoutes,
];
