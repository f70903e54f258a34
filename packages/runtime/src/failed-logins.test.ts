import { describe, expect, it } from 'vitest';
import { FailedLogins } from './failed-logins.ts';

/** As many failures as an address may have in a minute. */
const most = 20;

function failing(options: { trustedProxies?: string[] } = {}) {
  let now = 1_000;
  const failed = new FailedLogins({ ...options, now: () => now });
  const count = (remoteAddress: string | undefined, forwardedFor?: string) =>
    failed.count({
      headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
      socket: { remoteAddress },
    });
  return {
    count,
    /** Uses up the failures of an address. */
    exhaust: (...from: Parameters<typeof count>) => {
      for (let at = 0; at < most; at++) expect(count(...from)).toBeUndefined();
    },
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe('failed log-ins', () => {
  it('of one address are 20 a minute; further ones wait for the end of the minute', () => {
    const { count, exhaust, pass } = failing();
    exhaust('192.0.2.1');
    pass(45_000);
    expect(count('192.0.2.1')).toBe(15_000);
    pass(15_000);
    exhaust('192.0.2.1');
    expect(count('192.0.2.1')).toBe(60_000);
  });

  it('of one address do not count against another', () => {
    const { count, exhaust } = failing();
    exhaust('192.0.2.1');
    expect(count('192.0.2.2')).toBeUndefined();
  });

  it('of all addresses in a /64 count together', () => {
    const { count, exhaust } = failing();
    exhaust('2001:db8::1');
    for (const same of [
      '2001:db8::2',
      '2001:0DB8:0:0:ffff:ffff:ffff:ffff',
      '2001:db8:0:0::',
      '2001:db8::1.2.3.4',
    ]) {
      expect(count(same)).toBe(60_000);
    }
    for (const other of ['2001:db8:0:1::1', '2001:db9::1', '::2001:db8', '2001:db8:1::']) {
      expect(count(other)).toBeUndefined();
    }
  });

  it('of an IPv4 address in its mapped form are those of the address', () => {
    const { count, exhaust } = failing();
    exhaust('192.0.2.1');
    expect(count('::ffff:192.0.2.1')).toBe(60_000);
    expect(count('::ffff:192.0.2.2')).toBeUndefined();
  });

  it('of a link-local address are counted without its zone', () => {
    const { count, exhaust } = failing();
    exhaust('fe80::1%eth0');
    expect(count('fe80::2')).toBe(60_000);
  });

  it('of more networks than are counted apart share one count, and take no more memory', () => {
    const { count } = failing();
    const address = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
    for (let at = 0; at < 10_000; at++) expect(count(address(at))).toBeUndefined();
    for (let at = 10_000; at < 10_000 + most; at++) expect(count(address(at))).toBeUndefined();
    expect(count(address(20_000))).toBe(60_000);
    expect(count(address(5))).toBeUndefined();
  });

  it('of a connection without an address are counted, too', () => {
    const { count, exhaust } = failing();
    exhaust(undefined);
    expect(count(undefined)).toBe(60_000);
  });
});

describe('the answer to a failed log-in', () => {
  const from = (remoteAddress: string) => ({ headers: {}, socket: { remoteAddress } });
  const throttled = (closes: boolean) => ({ waitMs: 60_000, closes });

  function holding() {
    const waits: (() => void)[] = [];
    const wait = () => new Promise<void>((resolve) => waits.push(resolve));
    const failed = new FailedLogins({ now: () => 0, wait });
    const exhaust = async (address: string) => {
      for (let at = 0; at < most; at++) expect(await failed.holdBack(from(address))).toBeUndefined();
    };
    return { failed, waits, exhaust };
  }

  it('is held back once there were too many', async () => {
    const { failed, waits, exhaust } = holding();
    await exhaust('192.0.2.1');
    expect(waits).toHaveLength(0);
    const late = failed.holdBack(from('192.0.2.1'));
    expect(waits).toHaveLength(1);
    expect(await failed.holdBack(from('192.0.2.2'))).toBeUndefined();
    waits[0]?.();
    expect(await late).toEqual(throttled(false));
  });

  it('is held back for so many of a network, and ends the connection of others', async () => {
    const { failed, waits, exhaust } = holding();
    await exhaust('192.0.2.1');
    await exhaust('192.0.2.2');
    const late = Array.from({ length: 64 }, () => failed.holdBack(from('192.0.2.1')));
    expect(await failed.holdBack(from('192.0.2.1'))).toEqual(throttled(true));
    const other = failed.holdBack(from('192.0.2.2'));
    for (const goOn of waits.splice(0)) goOn();
    expect(await Promise.all([...late, other])).toEqual(Array.from({ length: 65 }, () => throttled(false)));
    const again = failed.holdBack(from('192.0.2.1'));
    expect(waits).toHaveLength(1);
    waits[0]?.();
    expect(await again).toEqual(throttled(false));
  });

  it('is held back for so many of all networks', async () => {
    const { failed, waits, exhaust } = holding();
    const late: Promise<unknown>[] = [];
    for (let network = 0; network < 17; network++) {
      await exhaust(`192.0.2.${network}`);
      for (let at = 0; at < 64; at++) late.push(failed.holdBack(from(`192.0.2.${network}`)));
    }
    expect(waits).toHaveLength(1_024);
    for (const goOn of waits) goOn();
    const answers = await Promise.all(late);
    expect(answers.slice(0, 1_024)).toEqual(Array.from({ length: 1_024 }, () => throttled(false)));
    expect(answers.slice(1_024)).toEqual(Array.from({ length: 64 }, () => throttled(true)));
  });
});

describe('failed log-ins behind a proxy', () => {
  const trustedProxies = ['10.0.0.0/8', 'fd00::/8'];

  it('are those of the connection, whatever it says, if it is not trusted', () => {
    const { count, exhaust } = failing({ trustedProxies });
    exhaust('192.0.2.9', '198.51.100.1');
    expect(count('192.0.2.9', '198.51.100.2')).toBe(60_000);
    expect(failing().count('10.0.0.1', '198.51.100.1')).toBeUndefined();
  });

  it.each(['10.0.0.1', '::ffff:10.0.0.1', 'fd00::1'])('are those of the client that %s names', (proxy) => {
    const { count, exhaust } = failing({ trustedProxies });
    exhaust(proxy, '198.51.100.1');
    expect(count(proxy, '198.51.100.1')).toBe(60_000);
    expect(count(proxy, '198.51.100.2')).toBeUndefined();
    expect(count('198.51.100.1')).toBe(60_000);
  });

  it('are those of the last client that no trusted proxy is, not of what that client says', () => {
    const { count, exhaust } = failing({ trustedProxies });
    exhaust('10.0.0.1', '1.1.1.1, 198.51.100.1, 10.0.0.2');
    expect(count('10.0.0.1', '2.2.2.2,198.51.100.1 ,10.9.9.9')).toBe(60_000);
  });

  it.each(['198.51.100.1:4711', '[2001:db8::1]:4711', '[2001:db8::1]'])('are read from %s', (named) => {
    const { count, exhaust } = failing({ trustedProxies });
    exhaust('10.0.0.1', named);
    expect(count(named.includes('db8') ? '2001:db8::1' : '198.51.100.1')).toBe(60_000);
  });

  it.each([undefined, '', 'unknown', '_hidden', '198.51.100.1, nonsense'])(
    'are those of the proxy if it says "%s"',
    (forwardedFor) => {
      const { count, exhaust } = failing({ trustedProxies });
      exhaust('10.0.0.1', forwardedFor);
      expect(count('10.0.0.1')).toBe(60_000);
    },
  );
});
