import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from './config-error.ts';
import type { FileSources, ThreadAnswer } from './load-in-thread.ts';
import { loadSettings } from './load-settings.ts';

// The thread of `loadSettingsInThread`: loads once and answers.

parentPort?.postMessage(load(workerData as FileSources)); // what `loadSettingsInThread` passes

function load(sources: FileSources): ThreadAnswer {
  try {
    return { settings: JSON.stringify(loadSettings(sources)) };
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems };
    throw error;
  }
}
