import type { MockRoute } from './mock-route.ts';
import { sessionRoutes } from './session.ts';

/** Every fake route. A page adds a file with its own, and a line here. */
export const mockRoutes: readonly MockRoute[] = [...sessionRoutes];
