import { expect, it } from 'vitest';
import { asCommand } from './messages.ts';
import { SimulatedStore } from './simulated-store.ts';

function ask(store: SimulatedStore, ...args: string[]): string | undefined {
  const number = store.connect();
  store.receive(number, asCommand(args));
  const reply = store.step().written.get(number);
  store.hangUp(number);
  return reply?.toString();
}

const start = () => new SimulatedStore({ nowNs: () => 1_800_000_000_000_000_000n });

it('begins empty, like the first store of its thread', () => {
  const first = start();
  expect(ask(first, 'SET', 'key', 'value')).toBe('+OK\r\n');
  expect(ask(start(), 'GET', 'key')).toBe('$-1\r\n');
  expect(ask(first, 'GET', 'key')).toBe('$5\r\nvalue\r\n');
});

it('goes back to a snapshot, and ends the connections that it has', () => {
  const store = start();
  const waiting = store.connect();
  store.receive(waiting, asCommand(['BLPOP', 'list', '0']));
  store.step();
  ask(store, 'SET', 'kept', '1');
  const snapshot = store.snapshot();
  // More than the memory of the snapshot has room for.
  ask(store, 'SET', 'lost', 'x'.repeat(2 ** 24));
  store.restore(snapshot);
  expect(ask(store, 'MGET', 'kept', 'lost')).toBe('*2\r\n$1\r\n1\r\n$-1\r\n');
  expect(ask(store, 'CLIENT', 'LIST')?.match(/id=/g)).toHaveLength(1);
});
