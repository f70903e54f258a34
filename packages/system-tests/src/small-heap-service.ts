import type { FakeUpstream } from '@sluice/testing';
import { type Service, testService } from './service.ts';

export const hostile = 'sk-hostile-0123456789abcd';
export const neighbour = 'sk-neighbour-0123456789ab';

interface SmallHeap {
  /** Most of the heap of a worker, in MiB. */
  heapMiB: number;
  workerConcurrency: number;
}

/** A service with a model `m` and two tenants, of whom one asks for more than the heap of a worker takes: see `testService`. */
export function smallHeapService(upstream: FakeUpstream, { heapMiB, workerConcurrency }: SmallHeap): Service {
  return testService(() => ({
    settings: {
      keys: [
        { name: 'hostile', key: hostile },
        { name: 'neighbour', key: neighbour },
      ],
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl }],
      models: [{ id: 'm', routes: [{ provider: 'upstream' }] }],
      workerConcurrency,
    },
    env: { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` },
  }));
}
