import type { AdminRoute } from './admin-route.ts';
import { followOverview } from './routes/follow-overview.ts';
import { listKeys } from './routes/list-keys.ts';
import { listQueues } from './routes/list-queues.ts';
import { listTenants } from './routes/list-tenants.ts';
import { readOverview } from './routes/read-overview.ts';
import { readSession } from './routes/read-session.ts';

/** Every route of the admin API. The document of the API is made from this list, too. */
export const adminRoutes: readonly AdminRoute[] = [
  readSession,
  readOverview,
  followOverview,
  listQueues,
  listTenants,
  listKeys,
];
