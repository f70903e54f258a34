import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { ResponseQueues } from '@sluice/queue';
import { defaultCell } from '@sluice/response-store';
import type { FastifyInstance } from 'fastify';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

/** bull-board's dashboard under `path`, read-only, with the jobs of every queue. */
export async function registerDashboard(
  app: FastifyInstance,
  path: string,
  queue: ResponseQueues,
): Promise<void> {
  // The files of its page. It would look for them beside its own code, which a bundle has moved. Where they are not found, as without a descriptor,
  // the next visit looks again: what a module throws while it is loaded is thrown ever after.
  const uiBasePath = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'));
  const adapter = new FastifyAdapter();
  adapter.setBasePath(path);
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: { uiBasePath, uiConfig: { boardTitle: 'Sluice queues', hideRedisDetails: true } },
  });
  let shown: readonly DashboardQueue[] = [];
  // Models and cells come and go.
  app.addHook('onRequest', (_request, _reply, done) => {
    const queues = queue.forDashboard();
    if (queues.length !== shown.length || queues.some((each, at) => each !== shown[at])) {
      shown = queues;
      board.replaceQueues(queues.map(adapterOf));
    }
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isPage =
      typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html');
    done(null, isPage ? payload.replaceAll(foreignLink, '') : payload);
  });
  await app.register(adapter.registerPlugin(), { prefix: path });
}

function adapterOf(queue: DashboardQueue): BullMQAdapter {
  return new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false, ...namesOf(queue) });
}

/** How a queue is shown. Those of further cells have another prefix, because bull-board tells queues apart by their names. */
function namesOf({ name, opts }: DashboardQueue): { displayName: string; prefix?: string } {
  const displayName = decodeURIComponent(name);
  const cell = /\{(\w)\}/.exec(opts.prefix ?? '')?.[1] ?? defaultCell;
  return cell === defaultCell
    ? { displayName }
    : { displayName: `${displayName} (cell ${cell})`, prefix: `${cell}:` };
}

type DashboardQueue = ReturnType<ResponseQueues['forDashboard']>[number];

/** bull-board's page loads a font from elsewhere. The policy of the listener forbids that, so every load was an error. */
const foreignLink = /<link\b[^>]*\bhref="https:\/\/[^>]*>/g;
