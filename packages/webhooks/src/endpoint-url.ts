import { isPrivateHost, ServiceError } from '@sluice/contract';

export interface EndpointRules {
  /** Whether http and private networks are allowed, as on a developer's machine. */
  allowPrivate: boolean;
}

/**
 * Checks the URL of an endpoint, as far as that is possible without resolving a name. What it resolves to is looked at with every call.
 *
 * @param param the member that has the URL.
 * @throws {ServiceError} `invalid_value` for that member.
 */
export function checkEndpointUrl(text: string, { allowPrivate }: EndpointRules, param = 'url'): void {
  const refuse = (message: string) => new ServiceError('invalid_value', `'${param}' ${message}`, { param });
  const url = URL.parse(text);
  if (!url) throw refuse('must be an absolute URL.');
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    throw refuse('must begin with https://.');
  }
  if (url.username !== '' || url.password !== '') throw refuse('must not have a user or a password.');
  if (url.hash !== '' || text.includes('#')) throw refuse('must not have a fragment.');
  if (allowPrivate) return;
  if (url.port !== '' && url.port !== '443') throw refuse('must name port 443 or none.');
  if (isPrivateHost(url.hostname)) throw refuse('must not be of a private network.');
}
