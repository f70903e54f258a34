import type { AdminRoute } from './admin-route.ts';
import { listAudit } from './routes/list-audit.ts';
import { listActs, readAct, stopAct } from './routes/read-acts.ts';
import { readContent } from './routes/read-content.ts';
import { changeTenantLimits, createApiKey, revokeApiKey } from './routes/steer-keys.ts';
import { addModel, changeModel, removeModel } from './routes/steer-models.ts';
import { addCell, drainCell, openCell, removeCell } from './routes/steer-cells.ts';
import { addProvider, changeProvider, removeProvider } from './routes/steer-providers.ts';
import { sendDelivery } from './routes/steer-deliveries.ts';
import { cancelAnyResponse, retryResponse, startAct } from './routes/steer-responses.ts';
import { drainQueue, pauseQueue, resumeQueue } from './routes/steer-queue.ts';
import { tailEvents } from './routes/tail-events.ts';

/** Routes that change something or show content, and what says how that went. */
export const actingRoutes: readonly AdminRoute[] = [
  cancelAnyResponse,
  retryResponse,
  readContent,
  tailEvents,
  startAct,
  listActs,
  readAct,
  stopAct,
  pauseQueue,
  resumeQueue,
  drainQueue,
  createApiKey,
  revokeApiKey,
  changeTenantLimits,
  addModel,
  changeModel,
  removeModel,
  addProvider,
  changeProvider,
  removeProvider,
  addCell,
  drainCell,
  openCell,
  removeCell,
  sendDelivery,
  listAudit,
];
