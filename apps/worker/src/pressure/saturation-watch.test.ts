import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SaturationWatch } from './saturation-watch.ts';

let waiting = 0;
let readings = 0;
const server = createServer((_request, answer) => {
  readings += 1;
  answer.end(`requests_waiting{model_name="m"} ${waiting}\n`);
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

it('has its gates open once it is stopped, and reads again when it is started again', async () => {
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  const changes: boolean[] = [];
  const watch = new SaturationWatch({
    settings: {
      metricsUrl: `http://127.0.0.1:${port}/metrics`,
      metric: 'requests_waiting',
      most: 10,
      everyMs: 20,
      headers: {},
    },
    now: () => performance.now(),
    onFault: () => undefined,
    onChange: ({ isSaturated }) => changes.push(isSaturated),
    onReading: () => undefined,
  });
  const gate = watch.gate('m');
  for (const _round of [1, 2]) {
    waiting = 50;
    watch.start();
    await eventually(() => gate.isClosed);
    await watch.stop();
    expect(gate.isClosed).toBe(false);
    // A reading that was broken off may come to the server yet, and is there before this one.
    await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const before = readings;
    waiting = 0;
    await new Promise((resolve) => setImmediate(resolve));
    expect(readings).toBe(before);
  }
  expect(changes).toEqual([true, false, true, false]);
});
