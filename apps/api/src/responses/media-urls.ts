import type { ModelSettings, ProviderSettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { MediaUrls, PreparedRequest } from '@sluice/response-store';

/** Told of a URL that no upstream of a model may fetch. */
const refusals: Record<keyof MediaUrls, string> = {
  media:
    'A media URL is not passed to the model server: this service does not let it fetch URLs. Send the content itself in its place, as base64.',
  file: 'The model server is given files as data alone. Send the content itself in place of its URL, as base64.',
};

/**
 * Checks whether an upstream of the model may be given the URLs in a request. Where the routes of a model differ, the worker finds it out.
 *
 * @throws {ServiceError} `invalid_prompt`, as the worker has it, that names the part.
 */
export function checkMediaUrls(
  { mediaUrls }: Pick<PreparedRequest, 'mediaUrls'>,
  { routes }: Pick<ModelSettings, 'routes'>,
  providers: readonly ProviderSettings[],
): void {
  if (!mediaUrls) return;
  const upstreams = routes.map(({ provider }) => providers.find(({ id }) => id === provider));
  for (const kind of ['media', 'file'] as const) {
    const param = mediaUrls[kind];
    if (param !== undefined && upstreams.every((upstream) => refusesUrl(upstream, kind)))
      throw new ServiceError('invalid_prompt', refusals[kind], { param });
  }
}

function refusesUrl(upstream: ProviderSettings | undefined, kind: keyof MediaUrls): boolean {
  if (!upstream || !('fetchesUrls' in upstream)) return false;
  // Parts of chat completions have no place for the URL of a file.
  return !upstream.fetchesUrls || (kind === 'file' && upstream.type === 'openai-chat');
}
