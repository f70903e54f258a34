import { Telemetry } from '@sluice/runtime';
import { type FakeOtlpReceiver, startFakeOtlpReceiver } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { openTraces, type TraceOptions } from './open-traces.ts';

const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}`;

function settingsFor(
  { url }: Pick<FakeOtlpReceiver, 'url'>,
  more: Partial<TraceOptions['settings']> = {},
): TraceOptions['settings'] {
  return {
    endpoint: `${url}/v1/traces`,
    headers: { authorization: 'Bearer of-the-receiver' },
    protocol: 'http/json',
    compression: 'gzip',
    timeoutMs: 10_000,
    serviceName: undefined,
    resource: {},
    sampler: { name: 'parentbased_always_on', ratio: 1 },
    propagates: true,
    batch: { most: 4, size: 2, delayMs: 5 },
    ...more,
  };
}

function open(settings: TraceOptions['settings']) {
  const dropped: number[] = [];
  const traces = openTraces(settings, {
    service: { role: 'api', version: '1.2.3', instance: 'one' },
    onDropped: (_error, spans) => dropped.push(spans),
  });
  if (!traces) throw new Error('there are no traces');
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  traces.listen(telemetry, () => Date.now());
  const answer = (status = 200, traceparent?: string) => {
    const trace = traces.begin(traceparent);
    telemetry.emit('request.answered', { route: '/r', method: 'GET', status, elapsedMs: 1, trace });
  };
  return { traces, dropped, answer };
}

describe('openTraces', () => {
  it('is nothing without settings', () => {
    const options = {
      service: { role: 'api' as const, version: '', instance: '' },
      onDropped: () => undefined,
    };
    expect(openTraces(undefined, options)).toBeUndefined();
  });

  it('sends what waits before it stops, compressed and with its headers', async () => {
    await using receiver = await startFakeOtlpReceiver();
    const { traces, answer } = open(settingsFor(receiver, { batch: { most: 8, size: 8, delayMs: 60_000 } }));
    for (const status of [200, 500]) answer(status);
    await traces.stop(10_000);
    answer();

    expect(receiver.spans.map(({ name, status, service }) => [name, status, service])).toEqual([
      ['GET /r', 0, 'sluice-api'],
      ['GET /r', 2, 'sluice-api'],
    ]);
    expect(receiver.texts[0]).toContain('"content-encoding":"gzip"');
    expect(receiver.texts[0]).toContain('Bearer of-the-receiver');
  });

  it('says once what a process is, and as its operator says it', async () => {
    await using receiver = await startFakeOtlpReceiver();
    const resource = { 'service.version': 'of-ours', 'service.name': 'passed over', team: 'inference' };
    const { traces, answer } = open(settingsFor(receiver, { resource, compression: 'none' }));
    answer();
    await traces.stop(10_000);

    const [text = ''] = receiver.texts;
    const body = JSON.parse(text.slice(text.indexOf('\n'))) as {
      resourceSpans: [{ resource: { attributes: { key: string; value: { stringValue: string } }[] } }];
    };
    const said = body.resourceSpans[0].resource.attributes.map(({ key, value }) => [key, value.stringValue]);
    expect(said).toEqual(
      expect.arrayContaining([
        ['service.name', 'sluice-api'],
        ['service.version', 'of-ours'],
        ['service.instance.id', 'one'],
        ['team', 'inference'],
      ]),
    );
    expect(new Set(said.map(([key]) => key)).size).toBe(said.length);
  });

  it('writes protobuf', async () => {
    await using receiver = await startFakeOtlpReceiver();
    receiver.answerWith(204);
    const { traces, answer, dropped } = open(
      settingsFor(receiver, { protocol: 'http/protobuf', compression: 'none' }),
    );
    answer();
    await traces.stop(10_000);

    expect(receiver.texts[0]).toContain('"content-type":"application/x-protobuf"');
    expect(receiver.texts[0]).toContain('GET /r');
    expect(dropped).toEqual([]);
  });

  it('drops what a silent receiver does not take, past a bound and at its stop', async () => {
    await using receiver = await startFakeOtlpReceiver();
    receiver.answerWith('nothing');
    const { traces, answer, dropped } = open(settingsFor(receiver));
    for (let count = 0; count < 20; count += 1) answer();
    await traces.stop(50);

    expect(dropped.reduce((sum, spans) => sum + spans, 0)).toBe(20);
  });

  it('tells of a receiver that refuses', async () => {
    await using receiver = await startFakeOtlpReceiver();
    receiver.answerWith(302);
    const { traces, answer, dropped } = open(settingsFor(receiver));
    answer();
    await traces.stop(10_000);

    expect(dropped).toEqual([1]);
  });

  it.each([
    ['parentbased_always_on', true, true, false],
    ['parentbased_always_off', false, true, false],
    ['always_on', true, true, true],
    ['always_off', false, false, false],
  ] as const)('samples by %s', async (name, root, ofSampled, ofUnsampled) => {
    const { traces } = open(settingsFor({ url: 'http://127.0.0.1:9' }, { sampler: { name, ratio: 1 } }));
    expect(traces.begin(undefined).isSampled).toBe(root);
    expect(traces.begin(`${parent}-01`)).toMatchObject({
      traceId: 'a'.repeat(32),
      parentSpanId: 'b'.repeat(16),
      isSampled: ofSampled,
    });
    expect(traces.begin(`${parent}-00`).isSampled).toBe(ofUnsampled);
    await traces.stop(0);
  });

  it('samples a share, and heeds no caller where nothing is propagated', async () => {
    const { traces } = open(
      settingsFor(
        { url: 'http://127.0.0.1:9' },
        {
          sampler: { name: 'parentbased_traceidratio', ratio: 0.25 },
          propagates: false,
        },
      ),
    );
    const begun = Array.from({ length: 4_000 }, () => traces.begin(`${parent}-01`));
    const share = begun.filter(({ isSampled }) => isSampled).length / begun.length;
    expect(share).toBeGreaterThan(0.2);
    expect(share).toBeLessThan(0.3);
    expect(begun[0]).toMatchObject({ parentSpanId: undefined });
    await traces.stop(0);
  });
});
