import { actingRoutes } from './acting-routes.ts';
import type { AdminRoute } from './admin-route.ts';
import { readSession } from './routes/read-session.ts';

/** Every route of the admin API. The document of the API is made from this list, too. */
export const adminRoutes: readonly AdminRoute[] = [readSession, ...actingRoutes];
