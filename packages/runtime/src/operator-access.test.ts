import { describe, expect, it } from 'vitest';
import { FailedLogins } from './failed-logins.ts';
import { checkOperator, refuseOperator } from './operator-access.ts';

const token = 'token-of-the-operator';
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

function check({
  authorization,
  host = '127.0.0.1:3001',
  from = '127.0.0.1',
  withToken = false,
}: {
  authorization?: string;
  host?: string;
  from?: string;
  withToken?: boolean;
}) {
  const headers = { host, ...(authorization !== undefined && { authorization }) };
  return checkOperator({ headers, socket: { remoteAddress: from } }, withToken ? token : undefined);
}

describe('an operator with a token', () => {
  it.each([`Bearer ${token}`, `bearer ${token}`, basic(`admin:${token}`), basic(`:${token}`)])(
    'passes with %s from anywhere',
    (authorization) => {
      expect(check({ authorization, host: 'sluice.example', from: '192.0.2.7', withToken: true })).toBe(
        undefined,
      );
    },
  );

  it.each(['', 'Bearer', 'Bearer wrong', `Bearer ${token}x`, token, `Digest ${token}`, basic(`${token}:`)])(
    'is refused with "%s", also on this machine',
    (authorization) => {
      expect(check({ authorization, withToken: true })).toBe(401);
    },
  );
});

describe('an operator without a token', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])('passes from %s', (from) => {
    for (const host of ['localhost', 'localhost:3001', '127.0.0.1:3001', '[::1]:3001']) {
      expect(check({ host, from })).toBe(undefined);
    }
  });

  it.each(['evil.example', 'localhost.evil.example', '10.0.0.1', '0.0.0.0:3001', 'localhost@evil.example'])(
    'is refused under the name %s',
    (host) => {
      expect(check({ host })).toBe(403);
    },
  );

  it.each(['10.0.0.1', '::ffff:10.0.0.1', 'fe80::1'])('is refused from %s under any name', (from) => {
    expect(check({ host: 'localhost', from })).toBe(403);
  });
});

describe('an operator whose log-ins fail', () => {
  const attempts = () => {
    const waits: number[] = [];
    const wait = (ms: number) => Promise.resolve(waits.push(ms));
    const failedLogins = new FailedLogins({ now: () => 0, wait });
    const attempt = (authorization?: string) =>
      refuseOperator(
        {
          headers: { host: 'sluice.example', ...(authorization !== undefined && { authorization }) },
          socket: { remoteAddress: '192.0.2.7' },
        },
        { token, failedLogins },
      );
    return { attempt, waits };
  };
  const challenge = { 'www-authenticate': expect.stringMatching(/^Basic /) };

  it('is answered late after twenty wrong tokens, and passes with the right one meanwhile', async () => {
    const { attempt, waits } = attempts();
    for (let at = 0; at < 20; at++)
      expect(await attempt('Bearer wrong')).toEqual({ status: 401, headers: challenge });
    expect(waits).toEqual([]);
    const throttled = { status: 401, headers: { ...challenge, 'retry-after': '60' } };
    expect(await attempt('Bearer wrong')).toEqual(throttled);
    expect(await attempt(basic('admin:wrong'))).toEqual(throttled);
    expect(waits).toEqual([1_000, 1_000]);
    expect(await attempt(`Bearer ${token}`)).toBeUndefined();
    expect(waits).toHaveLength(2);
  });

  it('is asked for the password at any time', async () => {
    const { attempt, waits } = attempts();
    for (let at = 0; at < 30; at++) {
      await attempt('Bearer wrong');
      expect(await attempt()).toEqual({ status: 401, headers: challenge });
    }
    expect(waits).toHaveLength(10);
  });
});
