import { randomBytes } from 'node:crypto';
import { newResponseId } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { cellOf, defaultCell, homeCell } from './cells.ts';
import { redisKeys } from './keys.ts';

const tenants = Array.from({ length: 3_000 }, (_, at) => `tenant-${at}`);

describe('cells', () => {
  it('are named by the ids of their responses', () => {
    for (const cell of ['0', 'a', 'Z']) expect(cellOf(newResponseId(randomBytes, cell))).toBe(cell);
    expect(cellOf(newResponseId(randomBytes))).toBe(defaultCell);
  });

  it('share the tenants evenly, each with one home', () => {
    const cells = ['0', '1', '2'];
    const homes = Map.groupBy(tenants, (tenant) => homeCell(tenant, cells));
    for (const cell of cells) expect(homes.get(cell)?.length).toBeGreaterThan(800);
    expect(homeCell('tenant-1', ['0'])).toBe('0');
  });

  it('take tenants from the others alone when they are added', () => {
    for (const tenant of tenants) {
      const before = homeCell(tenant, ['0', '1']);
      expect([before, '2']).toContain(homeCell(tenant, ['0', '1', '2']));
    }
  });

  it('are the hash tag of every key that a script may touch', () => {
    const keys = redisKeys('sluice:').inCell('7');
    const all = [
      ...[keys.record('r'), keys.log('r'), keys.large('r'), keys.open, keys.stored('t'), keys.rescuer],
      ...[keys.idempotency('t', 'k'), keys.apiProcess('p'), keys.workerProcess('p')],
      ...[keys.load, keys.requestRate('t')],
    ];
    for (const key of all) expect(key).toMatch(/^sluice:\{7\}:/);
  });
});
