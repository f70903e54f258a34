import { describe, expect, it } from 'vitest';
import { renderPage } from './page.ts';

const machine = {
  cpu: 'A fast one',
  cores: 2,
  memoryGiB: 8,
  system: 'Linux 6',
  node: '24.0.0',
  bullmq: '6.0.0',
  undici: '8.0.0',
  sluice: '0.1.0',
};

function page(quick: boolean): string {
  return renderPage({
    date: new Date('2026-01-02T03:04:05Z'),
    elapsedMs: 61_400,
    quick,
    machine,
    redis: { version: 'redis 7', persistence: 'appendonly yes' },
    reports: [
      {
        name: 'streams',
        title: 'Streams',
        description: 'What.',
        tables: [{ title: 'T', columns: ['a'], rows: [['1']] }],
        elapsedMs: 41_000,
        controlMs: [9.5, 10, 30],
      },
    ],
  });
}

describe('renderPage', () => {
  it('says when, on what and with which versions it was measured', () => {
    expect(page(false)).toContain('| date | 2026-01-02 03:04 UTC, 61 s |');
    expect(page(false)).toContain('| machine | A fast one, 2 cores, 8 GiB, Linux 6 |');
    expect(page(false)).toContain('Node 24.0.0, BullMQ 6.0.0');
    expect(page(false)).toContain('| store | redis 7, appendonly yes |');
  });

  it('has a section for each scenario', () => {
    expect(page(false)).toContain('## Streams\n\nWhat.\n\n**T**\n\n| a |\n| --- |\n| 1 |\n');
  });

  it('shows the time that a scenario took', () => {
    expect(page(false)).toContain('_`npm run bench -- --scenario streams`, 2026-01-02, A fast one: 41 s.');
  });

  it('says how fast the machine was by the control', () => {
    expect(page(false)).toContain(' 41 s. Redis took 10,000 (9,500..30,000) µs for the control._');
  });

  it('warns of a quick run', () => {
    expect(page(true)).toContain('quick run');
    expect(page(false)).not.toContain('quick run');
  });
});
