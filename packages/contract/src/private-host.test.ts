import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isPrivateHost } from './private-host.ts';

const hostOf = (url: string) => new URL(url).hostname;

describe('a host', () => {
  it.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://2130706433',
    'http://0x7f000001',
    'http://0x7f.1',
    'http://0177.0.0.1',
    'http://127.0.0.1.',
    'http://0',
    'http://169.254.169.254',
    'http://172.31.255.255',
    'http://[::]',
    'http://[::1]',
    'http://[::127.0.0.1]',
    'http://[::ffff:169.254.169.254]',
    'http://[::ffff:10.0.0.1]',
    'http://[::ffff:8.8.8.8]',
    'http://[64:ff9b::7f00:1]',
    'http://[2002:7f00:1::]',
    'http://[fd00:ec2::254]',
    'http://[febf::1]',
    'http://localhost',
    'http://a.localhost.',
    'http://redis',
    'http://metadata.google.internal',
  ])('that leads inside is private: %s', (url) => {
    expect(isPrivateHost(hostOf(url))).toBe(true);
  });

  it.each([
    'https://example.com',
    'https://1.1.1.1',
    'https://126.255.255.255',
    'https://128.0.0.0',
    'https://172.15.255.255',
    'https://172.32.0.0',
    'https://[2606:4700::1111]',
    'https://[2a00:1450:4001:830::200e]',
    'https://1.2.3.4.example',
  ])('that leads outside is not: %s', (url) => {
    expect(isPrivateHost(hostOf(url))).toBe(false);
  });

  it('is judged as a list of the same networks of Node judges it, at the edges of each', () => {
    const networks: [string, number][] = [
      ['10.0.0.0', 8],
      ['100.64.0.0', 10],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      ['198.18.0.0', 15],
    ];
    const list = new BlockList();
    for (const [network, prefix] of networks) list.addSubnet(network, prefix);
    for (const [network, prefix] of networks) {
      const first = network.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
      for (const number of [first - 1, first, first + 2 ** (32 - prefix) - 1, first + 2 ** (32 - prefix)]) {
        const host = hostOf(`http://${number}`);
        expect(isPrivateHost(host), host).toBe(list.check(host));
      }
    }
  });
});
