/** The process that sends requests. It carries out one order at a time and answers with its result. */
import { Pool } from 'undici';
import { exchange } from './exchange.ts';
import type { LoadOrder, LoadReply } from './order.ts';
import { type Conversations, runOrder } from './run-order.ts';

/** Connections are kept between orders, so that a round does not begin with connecting. */
const pools = new Map<string, Pool>();
const conversations: Conversations = new Map();

function poolFor({ target, concurrency }: LoadOrder): Pool {
  const name = `${target.origin} ${concurrency}`;
  const known = pools.get(name);
  if (known) return known;
  const pool = new Pool(target.origin, {
    connections: concurrency,
    pipelining: 1,
    keepAliveTimeout: 60_000,
    headersTimeout: 20_000,
    bodyTimeout: 20_000,
  });
  pools.set(name, pool);
  return pool;
}

function reply(message: LoadReply): void {
  process.send?.(message);
}

process.on('message', (order: LoadOrder) => {
  runOrder((target) => exchange(poolFor(order), target), order, conversations).then(
    (result) => reply({ result }),
    (error: unknown) => reply({ error: String(error) }),
  );
});
process.send?.({});

process.once('SIGTERM', () => {
  const destroyed = [...pools.values()].map((pool) => pool.destroy());
  void Promise.all(destroyed).then(() => process.disconnect());
});
