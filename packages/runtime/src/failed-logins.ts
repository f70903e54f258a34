import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** The part of a request that identifies its client. An `IncomingMessage` has it. */
export interface AddressedRequest {
  headers: IncomingHttpHeaders;
  socket: { remoteAddress?: string | undefined };
}

export interface FailedLoginsOptions {
  /** Networks, such as `10.0.0.0/8`, whose `X-Forwarded-For` is believed; none by default. */
  trustedProxies?: readonly string[];
  /** The clock, in milliseconds; `performance.now` by default. */
  now?: () => number;
  /** Waits so many milliseconds before an answer. */
  wait?: (ms: number) => Promise<unknown>;
}

/** How a failure of a network that has had too many is answered. */
export interface Throttled {
  /** How long the client should wait, in milliseconds. */
  waitMs: number;
  /** Whether its connection is closed, because its answer was not held back. */
  closes: boolean;
}

/** Most failures that a network may have in a minute before it is told to wait. */
const mostFailures = 20;

/** How long the answer to each further failure is held back, and how many are at a time. Further ones are answered at once. */
const held = { ms: 1_000, ofNetwork: 64, inAll: 1_024 };
const windowMs = 60_000;

/** Most networks that are counted apart. Together they take about a megabyte. */
const mostNetworks = 10_000;

/** Counts the failures of every network beyond those that are counted apart. */
const everyOther = '';

/**
 * Counts failed log-ins by the client's network: an IPv4 address, or the /64 of an IPv6 address, because a client with one
 * address of it has all of them.
 *
 * Callers check the credential first and come here with failures alone. So nobody with a good credential is refused or held up
 * because of others behind the same address, and it does no harm that networks share one count once too many fail in the same
 * minute.
 */
export class FailedLogins {
  readonly #proxies = new BlockList();
  readonly #now: () => number;
  readonly #failures = new Map<string, number>();
  readonly #wait: (ms: number) => Promise<unknown>;
  /** How many answers are held back, by network. */
  readonly #heldOf = new Map<string, number>();
  #held = 0;
  #windowEndsAt = Number.NEGATIVE_INFINITY;

  constructor({
    trustedProxies = [],
    now = () => performance.now(),
    wait = pause,
  }: FailedLoginsOptions = {}) {
    this.#now = now;
    this.#wait = wait;
    for (const network of trustedProxies) {
      const [address = '', prefix = ''] = network.split('/');
      this.#proxies.addSubnet(address, Number(prefix), familyOf(address));
    }
  }

  /**
   * Counts a failure. Returns how long the client should wait, in milliseconds, if its network has had its failures of
   * this minute; undefined if not.
   */
  count(request: AddressedRequest): number | undefined {
    return this.#count(networkOf(this.clientOf(request)));
  }

  /**
   * Counts a failure, and holds back the answer to a client whose network has had its failures of this minute. Returns how
   * to answer it; undefined for an ordinary answer.
   */
  async holdBack(request: AddressedRequest): Promise<Throttled | undefined> {
    const network = networkOf(this.clientOf(request));
    const waitMs = this.#count(network);
    if (waitMs === undefined) return undefined;
    const ofNetwork = this.#heldOf.get(network) ?? 0;
    if (ofNetwork >= held.ofNetwork || this.#held >= held.inAll) return { waitMs, closes: true };
    this.#heldOf.set(network, ofNetwork + 1);
    this.#held += 1;
    await this.#wait(held.ms);
    this.#held -= 1;
    const left = (this.#heldOf.get(network) ?? 1) - 1;
    if (left > 0) this.#heldOf.set(network, left);
    else this.#heldOf.delete(network);
    return { waitMs, closes: false };
  }

  #count(ofNetwork: string): number | undefined {
    const now = this.#now();
    if (now >= this.#windowEndsAt) {
      this.#failures.clear();
      this.#windowEndsAt = now + windowMs;
    }
    const network = this.#counted(ofNetwork);
    const failures = this.#failures.get(network) ?? 0;
    if (failures >= mostFailures) return this.#windowEndsAt - now;
    this.#failures.set(network, failures + 1);
    return undefined;
  }

  /**
   * The address that a trusted proxy names, or that of the connection. Proxies append to the header, so it is read from its
   * end, up to the first address that is not a trusted proxy. Anything before that was written by the client.
   */
  clientOf({ headers, socket }: AddressedRequest): string {
    let client = plainAddress(socket.remoteAddress ?? '');
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    while (this.#isTrusted(client)) {
      const named = plainAddress(forwarded.pop() ?? '');
      if (isIP(named) === 0) break;
      client = named;
    }
    return client;
  }

  #counted(network: string): string {
    return this.#failures.size < mostNetworks || this.#failures.has(network) ? network : everyOther;
  }

  #isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.#proxies.check(address, familyOf(address));
  }
}

/** An address without spaces, brackets, port and zone, and an IPv4 address not in its mapped form. */
function plainAddress(text: string): string {
  const address = text.trim().toLowerCase();
  const inner = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
  return inner.replace(/%.*$/, '').replace(/^::ffff:(?=[\d.]+$)/, '');
}

function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.replace(/[\d.]+\.[\d.]+$/, '0:0').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
