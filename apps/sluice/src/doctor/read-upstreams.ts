import type { Settings } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { openOperator } from '../queues/operator.ts';
import { type Finding, good, warn } from './finding.ts';

/** Most findings of one kind, so that a store with many entries does not fill the terminal. */
const mostNamed = 20;

/** The upstreams to ask with the models to look for there, and where they come from. */
export interface ReadUpstreams extends Pick<Settings, 'models' | 'providers'> {
  findings: Finding[];
}

/**
 * Reads the models and providers in effect: those of the settings file and those that operators have stored. Models that upstreams list
 * are left out, because a list says nothing about itself. Where Redis does not answer those of the file are asked alone, and a finding
 * says so.
 */
export async function readUpstreams(
  settings: Settings,
  { isAway }: { isAway: boolean },
): Promise<ReadUpstreams> {
  const { models, providers, redisUrl } = settings;
  const subject = 'upstreams';
  const ofFile = `${providers.length} of the settings file`;
  if (redisUrl === undefined) return { models, providers, findings: [good(subject, `asks ${ofFile}`)] };
  const unread = warn(subject, `asks ${ofFile}; stored ones were not read, because Redis cannot be used`);
  if (isAway) return { models, providers, findings: [unread] };
  try {
    await using operator = await openOperator({ ...settings, redisUrl });
    const live = operator.models;
    const problems = [
      ...live.unusable.map(({ id, problem }) => `the stored model '${id}' is not offered: ${problem}`),
      ...live.unusableProviders.map(
        ({ id, problem }) => `the stored provider '${id}' is not in effect: ${problem}`,
      ),
    ];
    return {
      models: live.models.filter(({ id }) => live.originOf(id) !== 'discovered'),
      providers: live.providers,
      findings: [
        good(subject, `asks ${ofFile}, and ${live.providers.length - providers.length} stored`),
        ...problems.slice(0, mostNamed).map((problem) => warn(subject, problem)),
      ],
    };
  } catch (error) {
    if (error instanceof FatalError) return { models, providers, findings: [unread] };
    throw error;
  }
}
