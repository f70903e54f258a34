import { tickLabel, ticks } from './ticks.ts';

export type Point = readonly [x: number, y: number];

export interface Series {
  name: string;
  points: readonly Point[];
  /** A goal is a dashed line in grey. */
  style: 'line' | 'dots' | 'goal';
}

/** A picture of measured figures. Both axes contain 0 unless `xFromZero` is false. */
export interface Plot {
  title: string;
  xLabel: string;
  yLabel: string;
  series: readonly Series[];
  xFromZero?: boolean;
}

const width = 760;
const height = 380;
/** Around the area of the curves. */
const margin = { top: 64, right: 24, bottom: 52, left: 76 };

/** The most points of a curve. More are not seen, and make the file large. */
const mostPoints = 240;

/**
 * Draws a plot as an SVG file that stands for itself: no font, script or style from outside. Its colours follow the
 * reader's choice of light or dark, and its background is that of the page.
 */
export function renderPlot({ title, xLabel, yLabel, series, xFromZero = true }: Plot): string {
  const points = series.flatMap((one) => one.points).filter(isDrawable);
  const xs = ticks(
    ...range(
      points.map(([x]) => x),
      xFromZero,
    ),
    8,
  );
  const ys = ticks(
    ...range(
      points.map(([, y]) => y),
      true,
    ),
    6,
  );
  const scale = {
    x: scaleOf(xs, margin.left, width - margin.right),
    y: scaleOf(ys, height - margin.bottom, margin.top),
  };
  const [left, right] = [margin.left, width - margin.right];
  const [top, bottom] = [margin.top, height - margin.bottom];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${style}</style>`,
    text({ x: left, y: 22, kind: 'title' }, title),
    ...ys.map(
      (y) =>
        `<path class="grid" d="M${left} ${px(scale.y(y))}H${right}"/>` +
        text({ x: left - 8, y: scale.y(y) + 4, anchor: 'end' }, tickLabel(y)),
    ),
    ...xs.map(
      (x) =>
        `<path class="grid" d="M${px(scale.x(x))} ${top}V${bottom}"/>` +
        text({ x: scale.x(x), y: bottom + 18, anchor: 'middle' }, tickLabel(x)),
    ),
    text({ x: (left + right) / 2, y: height - 12, anchor: 'middle' }, xLabel),
    text({ x: 18, y: (top + bottom) / 2, anchor: 'middle', turned: true }, yLabel),
    ...series.map((one, at) => curve(one, at, scale)),
    ...legend(series),
    '</svg>',
    '',
  ].join('\n');
}

/** Colours with enough contrast on white and on black, and told apart by people who do not see red and green. */
const style = [
  'text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-size:15px;font-weight:600;fill:#1f2328}',
  '.grid{stroke:#d0d7de;stroke-width:1}path{fill:none}.line{stroke-width:2}',
  '.goal{stroke:#57606a;stroke-width:1.5;stroke-dasharray:6 4}.dots{fill-opacity:.6}',
  ...['#0969da', '#bc4c00', '#1a7f37', '#8250df', '#bf3989'].map(hue),
  '@media(prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#f0f6fc}.grid{stroke:#3d444d}.goal{stroke:#9198a1}',
  ...['#4493f8', '#f0883e', '#3fb950', '#ab7df8', '#db61a2'].map(hue),
  '}',
].join('');

const hues = 5;

function hue(colour: string, at: number): string {
  return `.line.s${at}{stroke:${colour}}.dots.s${at}{fill:${colour}}`;
}

interface Scale {
  x: (value: number) => number;
  y: (value: number) => number;
}

function curve({ points, style: kind }: Series, at: number, { x, y }: Scale): string {
  const drawable = points.filter(isDrawable);
  if (drawable.length === 0) return '';
  if (kind === 'dots') {
    const dots = drawable.map(([px_, py]) => `<circle cx="${px(x(px_))}" cy="${px(y(py))}" r="2.5"/>`);
    return `<g class="dots s${at % hues}">${dots.join('')}</g>`;
  }
  const path = thinned(drawable).map(([px_, py]) => `${px(x(px_))} ${px(y(py))}`);
  return `<path class="${kind === 'goal' ? 'goal' : `line s${at % hues}`}" d="M${path.join('L')}"/>`;
}

/** One row above the curves. Widths are estimated: seven units a character. */
function legend(series: readonly Series[]): string[] {
  let x = margin.left;
  return series.map(({ name, style: kind }, at) => {
    const start = x;
    x += 34 + name.length * 7;
    const y = 44;
    const key =
      kind === 'dots'
        ? `<circle class="dots s${at % hues}" cx="${start + 9}" cy="${y - 4}" r="3.5"/>`
        : `<path class="${kind === 'goal' ? 'goal' : `line s${at % hues}`}" d="M${start} ${y - 4}h18"/>`;
    return key + text({ x: start + 24, y }, name);
  });
}

/** Every so many points, and the last one. */
function thinned(points: readonly Point[]): readonly Point[] {
  const step = Math.ceil(points.length / mostPoints);
  return points.filter((_, at) => at % step === 0 || at === points.length - 1);
}

function isDrawable([x, y]: Point): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}

function range(values: readonly number[], fromZero: boolean): [low: number, high: number] {
  const low = values.reduce(
    (least, value) => Math.min(least, value),
    fromZero ? 0 : Number.POSITIVE_INFINITY,
  );
  const high = values.reduce((most, value) => Math.max(most, value), fromZero ? 0 : Number.NEGATIVE_INFINITY);
  return Number.isFinite(low) && high > low ? [low, high] : [0, 1];
}

function scaleOf(marks: readonly number[], from: number, to: number): (value: number) => number {
  const low = marks[0] ?? 0;
  const high = marks.at(-1) ?? 1;
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

interface Place {
  x: number;
  y: number;
  anchor?: 'middle' | 'end';
  kind?: 'title';
  turned?: boolean;
}

function text({ x, y, anchor, kind, turned }: Place, content: string): string {
  const place = turned ? `transform="translate(${px(x)} ${px(y)}) rotate(-90)"` : `x="${px(x)}" y="${px(y)}"`;
  const more = `${kind === undefined ? '' : ` class="${kind}"`}${anchor === undefined ? '' : ` text-anchor="${anchor}"`}`;
  return `<text ${place}${more}>${escaped(content)}</text>`;
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
