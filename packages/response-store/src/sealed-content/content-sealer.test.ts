import { expect, test } from 'vitest';
import { ContentSealer } from './content-sealer.ts';
import { mostSealedLength, sealingKeyOf } from './envelope.ts';

const key = sealingKeyOf('a secret of the operator');
const other = sealingKeyOf('another secret');
const sealer = new ContentSealer([key], 'tenant');
const reasoning = { text: 'First I look — 日本.', opaque: { origin: 'kind:upstream', data: '{"a":1}' } };

function sealed(): string {
  return sealer.sealReasoning(reasoning) ?? '';
}

test('opens what it has sealed, and nobody can read it meanwhile', () => {
  const envelope = sealed();
  expect(envelope).toMatch(/^[\w-]+$/);
  expect(Buffer.from(envelope, 'base64url').toString('latin1')).not.toContain('look');
  expect(sealer.openReasoning(envelope)).toEqual(reasoning);
  expect(sealer.openReasoning(sealer.sealReasoning({ text: '', opaque: undefined }) ?? '')).toEqual({
    text: '',
    opaque: undefined,
  });
  expect(sealer.openCompaction(sealer.sealCompaction('what happened') ?? '')).toBe('what happened');
});

test('the same content is sealed differently each time', () => {
  expect(sealed()).not.toBe(sealed());
});

test('does not open for another tenant, or for another purpose', () => {
  expect(new ContentSealer([key], 'other').openReasoning(sealed())).toBeUndefined();
  expect(sealer.openCompaction(sealed())).toBeUndefined();
  expect(sealer.openReasoning(sealer.sealCompaction('what happened') ?? '')).toBeUndefined();
});

test('finds every changed bit', () => {
  const bytes = Buffer.from(sealed(), 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
    expect(sealer.openReasoning(changed.toString('base64url')), `byte ${at}`).toBeUndefined();
  }
});

test('finds what was cut, added, or written otherwise', () => {
  const envelope = sealed();
  for (const changed of [
    '',
    'A',
    envelope.slice(0, -1),
    envelope.slice(0, 40),
    `${envelope}A`,
    `${envelope}=`,
    ` ${envelope}`,
    `${envelope.slice(0, 9)}\n${envelope.slice(9)}`,
    Buffer.from(envelope, 'base64url').toString('base64').replace(/=*$/, '=='),
  ]) {
    expect(sealer.openReasoning(changed), JSON.stringify(changed)).toBeUndefined();
  }
});

test('keys can be changed: the first seals, and all open', () => {
  const before = sealed();
  const both = new ContentSealer([other, key], 'tenant');
  expect(both.openReasoning(before)).toEqual(reasoning);
  const after = both.sealReasoning(reasoning) ?? '';
  expect(both.openReasoning(after)).toEqual(reasoning);
  expect(sealer.openReasoning(after)).toBeUndefined();
});

test('seals nothing that would not be taken back, and opens nothing longer', () => {
  const most = Math.floor((mostSealedLength * 3) / 4) - 100;
  expect(sealer.sealCompaction('x'.repeat(most))?.length).toBeLessThanOrEqual(mostSealedLength);
  expect(sealer.sealCompaction('x'.repeat(most + 100))).toBeUndefined();
  expect(sealer.openCompaction('A'.repeat(mostSealedLength + 1))).toBeUndefined();
});
