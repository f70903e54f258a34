import { describe, expect, it } from 'vitest';
import { figure, renderTable, spreadFigure } from './table.ts';

describe('figure', () => {
  it.each([
    [12345.6, '12,346'],
    [99.44, '99.4'],
    [1.2345, '1.23'],
    [0, '0.00'],
    [Number.NaN, '–'],
  ])('shows %d as %s', (value, text) => {
    expect(figure(value)).toBe(text);
  });
});

describe('spreadFigure', () => {
  it('shows the range behind the median', () => {
    expect(spreadFigure({ median: 2, min: 1, max: 300 })).toBe('2.00 (1.00..300)');
  });
});

describe('renderTable', () => {
  it('puts figures to the right', () => {
    const table = renderTable({ title: 'Rates', columns: ['who', 'rate'], rows: [['direct', '1']] });
    expect(table).toBe('**Rates**\n\n| who | rate |\n| --- | ---: |\n| direct | 1 |');
  });
});
