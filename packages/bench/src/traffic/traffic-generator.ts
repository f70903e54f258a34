/** The process that sends flows. It runs those of one message together, and answers with what became of each request. */
import { Pool } from 'undici';
import type { Flow, TrafficReply } from './flow.ts';
import { runFlow } from './run-flow.ts';

/** More than there are ever in flight, so that no request waits in here. */
const mostConnections = 1024;

const pools = new Map<string, Pool>();

function poolOf(origin: string): Pool {
  const known = pools.get(origin);
  if (known) return known;
  const pool = new Pool(origin, {
    connections: mostConnections,
    pipelining: 1,
    keepAliveTimeout: 60_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  pools.set(origin, pool);
  return pool;
}

function reply(message: TrafficReply): void {
  process.send?.(message);
}

process.on('message', (flows: Flow[]) => {
  Promise.all(flows.map((flow) => runFlow(poolOf, flow))).then(
    (sent) => reply({ sent }),
    (error: unknown) => reply({ error: String(error) }),
  );
});
process.send?.({});

process.once('SIGTERM', () => {
  const destroyed = [...pools.values()].map((pool) => pool.destroy());
  void Promise.all(destroyed).then(() => process.disconnect());
});
