import { expect, it } from 'vitest';
import type { FinishedSpan } from './finished-span.ts';
import { otlpBody } from './otlp-body.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const span: FinishedSpan = {
  name: 'chat 模型 🦊',
  kind: 'client',
  context: { traceId, spanId: 'b7ad6b7169203331', isSampled: true },
  parentSpanId: '00f067aa0ba902b7',
  startedAt: 1_795_415_000_123.456,
  endedAt: 5,
  attributes: [
    [
      ['known', 'yes'],
      ['unknown', undefined],
    ],
    [
      ['list', ['stop', 'длина']],
      ['count', 3],
      ['share', 0.125],
      ['stream', true],
    ],
  ],
  links: [{ traceId: 'f'.repeat(32), spanId: `${'0'.repeat(15)}1`, isSampled: false }],
  error: 'upstream_error',
};
const resource = { 'service.name': 'sluice-api', 'deployment.environment.name': 'prüfung' };

it('says of a span what is known of it, in JSON', () => {
  const body = JSON.parse(
    Buffer.from(otlpBody([span, { ...span, name: 'next' }], resource, 'http/json')).toString(),
  ) as {
    resourceSpans: [
      {
        resource: { attributes: unknown[] };
        scopeSpans: [{ scope: { name: string }; spans: Record<string, unknown>[] }];
      },
    ];
  };
  const [{ resource: said, scopeSpans }] = body.resourceSpans;
  expect(said.attributes).toEqual([
    { key: 'service.name', value: { stringValue: 'sluice-api' } },
    { key: 'deployment.environment.name', value: { stringValue: 'prüfung' } },
  ]);
  const [{ scope, spans }] = scopeSpans;
  expect(scope.name).toBe('sluice');
  expect(spans.map(({ name }) => name)).toEqual([span.name, 'next']);
  expect(spans[0]).toMatchObject({
    traceId,
    spanId: 'b7ad6b7169203331',
    parentSpanId: '00f067aa0ba902b7',
    kind: 3,
    // The end is before the start.
    startTimeUnixNano: '1795415000123456055',
    endTimeUnixNano: '1795415000123456055',
    attributes: [
      { key: 'known', value: { stringValue: 'yes' } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'stop' }, { stringValue: 'длина' }] } } },
      { key: 'count', value: { intValue: 3 } },
      { key: 'share', value: { doubleValue: 0.125 } },
      { key: 'stream', value: { boolValue: true } },
      { key: 'error.type', value: { stringValue: 'upstream_error' } },
    ],
    links: [{ traceId: 'f'.repeat(32), spanId: `${'0'.repeat(15)}1` }],
    status: { code: 2 },
  });
});

it('says the same in protobuf', () => {
  const body = Buffer.from(otlpBody([span], resource, 'http/protobuf'));
  for (const text of [span.name, 'prüfung', 'длина', 'error.type', 'upstream_error']) {
    expect(body.includes(text), text).toBe(true);
  }
  expect(body.includes(Buffer.from(traceId, 'hex'))).toBe(true);
});
