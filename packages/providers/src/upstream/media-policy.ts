import { BlockList, isIP } from 'node:net';
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

/** Whether a host, as `URL` normalises it, is a non-public address or a name of a private network. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase();
  const version = isIP(host);
  if (version === 4) return notGlobal4.check(host);
  if (version === 6) return notGlobal6.check(host, 'ipv6');
  if (!host.includes('.')) return true;
  return /\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(host);
}

// One list for each version: in a shared one, the rule for mapped addresses would match every IPv4 address.
const notGlobal4 = new BlockList();
const notGlobal6 = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  notGlobal4.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  notGlobal6.addSubnet(network, prefix, 'ipv6');
}
