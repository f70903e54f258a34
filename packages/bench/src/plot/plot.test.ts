import { describe, expect, it } from 'vitest';
import { renderPlot, type Series } from './plot.ts';
import { tickLabel, ticks } from './ticks.ts';

function plot(series: Series[], title = 'A title'): string {
  return renderPlot({ title, xLabel: 'seconds', yLabel: 'starts', series });
}

const line: Series = {
  name: 'a',
  style: 'line',
  points: [
    [0, 0],
    [10, 500],
  ],
};

/** Elements must be closed in order, attributes quoted, and text free of what XML reserves. */
function checkXml(xml: string): string[] {
  const open: string[] = [];
  const names: string[] = [];
  let rest = xml.trim();
  while (rest !== '') {
    const tag = /^<(\/?)([a-z]+)((?: [a-zA-Z:-]+="[^"<&]*")*)(\/?)>/.exec(rest);
    const content = /^(?:[^<>&]|&(?:amp|lt|gt|quot);)+/.exec(rest);
    if (tag) {
      const [, closes, name = '', , isEmpty] = tag;
      if (closes) expect(open.pop()).toBe(name);
      else {
        names.push(name);
        if (!isEmpty) open.push(name);
      }
    }
    const read = tag?.[0] ?? content?.[0];
    if (read === undefined) throw new Error(`not XML: ${rest.slice(0, 60)}`);
    rest = rest.slice(read.length);
  }
  expect(open).toEqual([]);
  return names;
}

describe('renderPlot', () => {
  it('is valid XML, whatever the words are', () => {
    const named = { ...line, name: '"a" & <b>' };
    const dots: Series = { ...line, style: 'dots' };
    const goal: Series = { ...line, style: 'goal' };
    const names = checkXml(plot([named, dots, goal], 'p99 < 3 & more'));
    expect(names[0]).toBe('svg');
    expect(names.filter((name) => name === 'circle')).toHaveLength(3); // two dots and their key
  });

  it('puts the points into the area between the axes', () => {
    expect(plot([line])).toContain('d="M76 328L736 64"');
  });

  it('is drawn without points, and leaves out what is no number', () => {
    checkXml(plot([]));
    const svg = plot([{ ...line, points: [...line.points, [5, Number.NaN]] }]);
    checkXml(svg);
    expect(svg).not.toContain('NaN');
  });

  it('keeps a long curve short, with its last point', () => {
    const points = Array.from({ length: 12_001 }, (_, at) => [at, at] as const);
    const path = /class="line s0" d="(M[^"h]*)"/.exec(plot([{ ...line, points }]))?.[1] ?? '';
    expect(path.split('L').length).toBeLessThan(300);
    expect(path.endsWith('L736 64')).toBe(true);
  });

  it('has colours for readers in the light and in the dark', () => {
    expect(plot([line])).toContain('@media(prefers-color-scheme:dark)');
  });
});

describe('ticks', () => {
  it('covers the range with round numbers', () => {
    expect(ticks(0, 97, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticks(0, 0, 5).length).toBeGreaterThan(1);
  });

  it('is labelled without noise', () => {
    expect(tickLabel(0.1 + 0.2)).toBe('0.3');
    expect(tickLabel(100_000)).toBe('100,000');
  });
});
