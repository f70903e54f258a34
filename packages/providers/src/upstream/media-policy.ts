import { isPrivateHost } from '@sluice/contract';
import { ProviderError } from '../provider.ts';

export interface MediaPolicy {
  /** The provider's id, for the message. */
  providerId: string;
  /** Whether the operator allows this upstream to fetch URLs that clients name. */
  fetchesUrls: boolean;
}

/**
 * Checks whether a media URL of a client may be passed to an upstream, and throws if not.
 *
 * `data:` URLs are always allowed. An http(s) URL is allowed only if the operator trusts the upstream to fetch, and
 * only with a public host and the default port. Numeric hosts in any spelling (decimal, hex, octal, short) are
 * checked as the address they stand for.
 *
 * Names are not resolved. A name that points at a private address (`127.0.0.1.nip.io`, or one whose answer changes
 * between two look-ups) is therefore allowed: only the machine that connects can refuse it, so an upstream that
 * fetches needs an egress rule of its own.
 *
 * @throws {ProviderError} `invalid_prompt`, not to be retried, with a public message that says what to send instead.
 */
export function checkMediaUrl(value: string, policy: MediaPolicy): void {
  if (/^data:/i.test(value)) return;
  const refusal = policy.fetchesUrls ? urlProblem(value) : 'this server does not let it fetch URLs';
  if (refusal === undefined) return;
  throw new ProviderError(
    'invalid_prompt',
    `Provider '${policy.providerId}' was not given a media URL: ${refusal}.`,
    {
      disposition: 'fail',
      param: 'input',
      publicMessage: `A media URL was not passed to the model server: ${refusal}. Send the content as a data URL instead.`,
    },
  );
}

/** Why a server must not be asked to fetch a URL; undefined when it may be. */
export function urlProblem(value: string): string | undefined {
  const url = URL.parse(value);
  if (!url) return 'the URL cannot be parsed';
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return "the URL's scheme is neither http nor https";
  if (url.username !== '' || url.password !== '') return 'the URL carries credentials';
  if (url.port !== '') return "the URL's port is not the default one";
  if (isPrivateHost(url.hostname)) return "the URL's host is not public";
  return undefined;
}
