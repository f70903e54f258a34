import type { ProviderSettings } from '@sluice/config';
import { LiveModels, type LiveModelsOptions } from '../src/models/live-models.ts';

/** A provider whose models answer at once. */
export const simulator = (id: string) =>
  ({
    id,
    type: 'simulator',
    firstTokenMs: 0,
    tokensPerSecond: 0,
    seed: 0,
    reasoning: false,
  }) satisfies ProviderSettings;

/** The models of a process with these settings, of which nothing waits. */
export const liveModels = (settings: Omit<LiveModelsOptions['settings'], 'timeouts'>) =>
  new LiveModels({
    settings: {
      ...settings,
      timeouts: { queueMs: 1_000, backgroundQueueMs: 1_000, totalMs: 1_000 } as never, // The others are not read.
    },
    isEmpty: () => Promise.resolve(true),
  });
