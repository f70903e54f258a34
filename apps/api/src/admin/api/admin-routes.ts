import { actingRoutes } from './acting-routes.ts';
import type { AdminRoute } from './admin-route.ts';
import { followAllResponses } from './routes/follow-responses.ts';
import { listAllResponses } from './routes/list-responses.ts';
import { readResponseDetail } from './routes/read-response-detail.ts';
import { readResponseFacets } from './routes/read-response-facets.ts';
import { followOverview } from './routes/follow-overview.ts';
import { listKeys } from './routes/list-keys.ts';
import { listQueues } from './routes/list-queues.ts';
import { listTenants } from './routes/list-tenants.ts';
import { readHistory } from './routes/read-history.ts';
import { readOverview } from './routes/read-overview.ts';
import { listAllModels } from './routes/steer-models.ts';
import { listCells } from './routes/steer-cells.ts';
import { listAllProviders } from './routes/steer-providers.ts';
import { listDeliveries } from './routes/steer-deliveries.ts';
import { readCosts, readUsage } from './routes/read-usage.ts';
import { readSession } from './routes/read-session.ts';

/** Every route of the admin API. The document of the API is made from this list, too. */
export const adminRoutes: readonly AdminRoute[] = [
  readSession,
  listAllResponses,
  readResponseFacets,
  followAllResponses,
  readResponseDetail,
  readOverview,
  readHistory,
  followOverview,
  listQueues,
  listTenants,
  listKeys,
  listAllModels,
  listAllProviders,
  listCells,
  readUsage,
  readCosts,
  listDeliveries,
  ...actingRoutes,
];
