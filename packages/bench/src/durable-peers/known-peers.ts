import type { DurablePeer } from './durable-peer.ts';
import { graphileWorker } from './graphile-worker.ts';
import { pgBoss } from './pg-boss.ts';
import { restate } from './restate.ts';
import { temporal } from './temporal.ts';

export const knownPeers: readonly DurablePeer[] = [restate, temporal, pgBoss, graphileWorker];
