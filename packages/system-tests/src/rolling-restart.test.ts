import { eventually, within } from '@sluice/testing';
import { expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';

const clients = 12;

/** Keeps a list of the apis that are ready, as a load balancer does. */
function balance(service: Service) {
  let ready = service.apis.map(({ url }) => url);
  let turn = 0;
  const probe = async () => {
    const probed = service.apis.map(async ({ url, isRunning }) => {
      if (!isRunning()) return [];
      const response = await fetch(`${url}/readyz`).catch(() => undefined);
      await response?.text();
      return response?.status === 200 ? [url] : [];
    });
    ready = (await Promise.all(probed)).flat();
  };
  const timer = setInterval(() => void probe(), 50);
  return {
    next: () => ready[turn++ % ready.length] ?? expect.unreachable('no api is ready'),
    has: (url: string) => ready.includes(url),
    stop: () => clearInterval(timer),
  };
}

it('restarts every process under load without a failed request or a cut stream', async () => {
  await using service = await startService({ apis: 2, workers: 2 });
  const balancer = balance(service);
  const statuses = new Map<string, number>();
  const count = (what: string) => statuses.set(what, (statuses.get(what) ?? 0) + 1);
  let isOver = false;
  const load = Array.from({ length: clients }, async (_, client) => {
    for (let at = 0; !isOver; at++) {
      const caller = callerOf(balancer.next(), service.key);
      const input = `Client ${client}, request ${at}. [[sluice: tokens=20 tokens_per_second=40]]`;
      try {
        if ((client + at) % 2 === 0) count(`stream ${(await caller.stream({ input })).final.status}`);
        else count(`whole ${(await caller.create({ input })).status}`);
      } catch (error) {
        count(`lost: ${String(error)} ${String((error as Error).cause)}`);
      }
    }
  });
  try {
    for (const leaving of [...service.apis]) {
      leaving.signal('SIGTERM');
      const [exit, added] = await Promise.all([
        within(leaving.exited, { timeoutMs: 30_000 }),
        service.addApi(),
      ]);
      expect(exit).toEqual({ code: 0, signal: null });
      await eventually(() => balancer.has(added.url));
    }
    for (const leaving of [...service.workers]) {
      leaving.signal('SIGTERM');
      const [exit] = await Promise.all([within(leaving.exited, { timeoutMs: 30_000 }), service.addWorker()]);
      expect(exit).toEqual({ code: 0, signal: null });
    }
  } finally {
    isOver = true;
    await Promise.all(load);
    balancer.stop();
  }
  expect([...statuses.keys()].toSorted()).toEqual(['stream completed', 'whole 200']);
});
