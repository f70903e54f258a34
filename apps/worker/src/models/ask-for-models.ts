import { type DiscoveringProvider, missingVariable, serversOf } from '@sluice/config';
import { listModelsOf, type ModelList } from '@sluice/providers';
import type { ListedModels } from '@sluice/wiring';

/** Asks an upstream for its models: the first of its servers that lists any. The fault is that of the last one. */
export async function askForModels(
  provider: DiscoveringProvider,
  signal: AbortSignal,
): Promise<ListedModels> {
  const missing = missingVariable(provider);
  if (missing !== undefined) {
    return {
      fault: `needs the environment variable ${missing}, which the worker that asks it does not have`,
    };
  }
  let last: ModelList = { kind: 'silent' };
  for (const { settings } of serversOf(provider)) {
    last = await listModelsOf(settings, signal);
    if (last.kind === 'listed' || signal.aborted) break;
  }
  switch (last.kind) {
    case 'listed':
      return { models: last.models.map(({ id }) => id) };
    case 'refused':
      return { fault: `answers with status ${last.status} and no list` };
    case 'silent':
      return { fault: 'does not answer' };
  }
}
