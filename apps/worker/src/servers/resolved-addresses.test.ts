import { getEventListeners } from 'node:events';
import { latch } from '@sluice/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { ResolvedAddresses } from './resolved-addresses.ts';

afterEach(() => vi.restoreAllMocks());

it('leaves nothing of a look-up behind, however often the name is looked up', async () => {
  const added = vi.spyOn(AbortSignal.prototype, 'addEventListener');
  const found = [{ address: '10.0.0.1', family: 4 }];
  const addresses = new ResolvedAddresses({
    host: 'servers',
    resolve: () => Promise.resolve(found),
    onChange: () => undefined,
  });
  for (let look = 0; look < 5; look += 1) await addresses.look();
  expect(added).toHaveBeenCalledTimes(5);
  const [signal] = added.mock.contexts;
  expect(getEventListeners(signal as AbortSignal, 'abort')).toEqual([]);
});

it('stops although a look-up never ends', async () => {
  const asked = latch();
  const addresses = new ResolvedAddresses({
    host: 'servers',
    resolve: () => {
      asked.open();
      return new Promise(() => undefined);
    },
    onChange: () => undefined,
  });
  addresses.start();
  await asked.wait();
  await addresses.stop();
});
