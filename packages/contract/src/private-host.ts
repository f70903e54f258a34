/**
 * Whether a host, as `URL` normalises it, is a non-public address or a name of a private network. `URL` turns an IPv4 address
 * in any spelling, such as `2130706433` or `0x7f.1`, into the dotted one. Names are not resolved. The networks are those of
 * IANA's registries of special-purpose addresses.
 */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, '').toLowerCase();
  if (host.startsWith('[')) return isIn(networks6, bitsOf6(host.slice(1, -1)), 128);
  if (/^\d+(\.\d+){3}$/.test(host)) return isIn(networks4, bitsOf4(host), 32);
  if (!host.includes('.')) return true;
  return /\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(host);
}

interface Network {
  bits: bigint;
  prefix: number;
}

function isIn(networks: readonly Network[], bits: bigint, length: number): boolean {
  return networks.some((network) => {
    const rest = BigInt(length - network.prefix);
    return network.bits >> rest === bits >> rest;
  });
}

function bitsOf4(address: string): bigint {
  return address.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

/** The bits of an address as `URL` writes it: hexadecimal groups, of which one run of zeros may be left out. */
function bitsOf6(address: string): bigint {
  const [before = '', after] = address.split('::');
  const head = groupsOf(before);
  const tail = groupsOf(after ?? '');
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':');
}

const networks4: readonly Network[] = [
  network4('0.0.0.0', 8),
  network4('10.0.0.0', 8),
  network4('100.64.0.0', 10),
  network4('127.0.0.0', 8),
  network4('169.254.0.0', 16),
  network4('172.16.0.0', 12),
  network4('192.0.0.0', 24),
  network4('192.0.2.0', 24),
  network4('192.88.99.0', 24),
  network4('192.168.0.0', 16),
  network4('198.18.0.0', 15),
  network4('198.51.100.0', 24),
  network4('203.0.113.0', 24),
  network4('224.0.0.0', 4),
  network4('240.0.0.0', 4),
];

const networks6: readonly Network[] = [
  network6('::', 96),
  network6('::ffff:0:0', 96),
  network6('64:ff9b::', 96),
  network6('64:ff9b:1::', 48),
  network6('100::', 64),
  network6('2001::', 23),
  network6('2001:db8::', 32),
  network6('2002::', 16),
  network6('fc00::', 7),
  network6('fe80::', 10),
  network6('fec0::', 10),
  network6('ff00::', 8),
];

function network4(address: string, prefix: number): Network {
  return { bits: bitsOf4(address), prefix };
}

function network6(address: string, prefix: number): Network {
  return { bits: bitsOf6(address), prefix };
}
