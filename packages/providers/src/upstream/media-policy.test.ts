import { describe, expect, it } from 'vitest';
import { checkMediaUrl, urlProblem } from './media-policy.ts';
import { ProviderError } from '../provider.ts';

const trusted = { providerId: 'up', fetchesUrls: true };
const untrusted = { providerId: 'up', fetchesUrls: false };

describe('urlProblem', () => {
  it.each([
    'http://127.0.0.1/a.png',
    'http://2130706433/a.png',
    'http://0x7f000001/a.png',
    'http://0x7f.1/a.png',
    'http://017700000001/a.png',
    'http://0177.0.0.1/a.png',
    'http://127.1/a.png',
    'http://127.0.0.1./a.png',
    'http://⑴②⑦.0.0.1/a.png',
    'http://１２７.0.0.1/a.png',
    'http://0/a.png',
    'http://10.1.2.3/a.png',
    'http://100.64.0.1/a.png',
    'http://169.254.169.254/latest/meta-data',
    'http://172.16.0.1/a.png',
    'http://172.31.255.255/a.png',
    'http://192.168.1.1/a.png',
    'http://198.18.0.1/a.png',
    'http://224.0.0.1/a.png',
    'http://255.255.255.255/a.png',
    'http://[::]/a.png',
    'http://[::1]/a.png',
    'http://[::ffff:127.0.0.1]/a.png',
    'http://[::ffff:7f00:1]/a.png',
    'http://[::ffff:8.8.8.8]/a.png',
    'http://[64:ff9b::7f00:1]/a.png',
    'http://[2002:7f00:1::]/a.png',
    'http://[fc00::1]/a.png',
    'http://[fe80::1]/a.png',
    'http://[ff02::1]/a.png',
    'http://localhost/a.png',
    'http://LOCALHOST./a.png',
    'http://a.localhost/a.png',
    'http://redis/a.png',
    'http://metadata.google.internal/a.png',
    'http://printer.local/a.png',
    'https://example.com:6379/a.png',
    'http://example.com:443/a.png',
    'https://user:secret@example.com/a.png',
    'ftp://example.com/a.png',
    'file:///etc/passwd',
    'gopher://example.com/',
    'not a url',
  ])('refuses %s', (url) => {
    expect(urlProblem(url)).toBeTypeOf('string');
  });

  it.each([
    'https://example.com/a.png',
    'https://example.com:443/a.png?size=large',
    'http://example.com/a.png',
    'https://93.184.215.14/a.png',
    'https://172.15.0.1/a.png',
    'https://172.32.0.1/a.png',
    'https://[2606:2800:21f:cb07::1]/a.png',
  ])('lets %s pass', (url) => {
    expect(urlProblem(url)).toBeUndefined();
  });

  it('cannot know where a name leads without asking for it', () => {
    expect(urlProblem('http://127.0.0.1.nip.io/a.png')).toBeUndefined();
  });
});

describe('checkMediaUrl', () => {
  it('lets data URLs pass to any upstream', () => {
    expect(() => checkMediaUrl('data:image/png;base64,AAAA', untrusted)).not.toThrow();
  });

  it('lets a public URL pass to an upstream that may fetch', () => {
    expect(() => checkMediaUrl('https://example.com/a.png', trusted)).not.toThrow();
  });

  it.each([
    ['https://example.com/a.png', untrusted],
    ['http://127.0.0.1/a.png', trusted],
  ])('refuses %s as an invalid prompt and says what to send instead', (url, policy) => {
    const refused = expectRefusal(() => checkMediaUrl(url, policy));
    expect(refused).toMatchObject({ code: 'invalid_prompt', disposition: 'fail', param: 'input' });
    expect(refused.publicMessage).toContain('data URL');
    expect(`${refused.message} ${refused.publicMessage}`).not.toContain(new URL(url).hostname);
  });
});

function expectRefusal(check: () => void): ProviderError {
  try {
    check();
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
  throw new Error('the URL was let pass');
}
