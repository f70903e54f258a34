import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useId, useRef } from 'react';
import UPlot from 'uplot';
import { type ChartTimes, chartTimes } from '../format/chart-times.ts';
import { formatCompact } from '../format/numbers.ts';
import classes from './time-series-chart.module.css';

export interface Series {
  label: string;
  /** One for each moment; null is a gap. */
  values: readonly (number | null)[];
  /** A token of `tokens.css` without `var()`: `--chart-1`, `--status-failed`. The next one of the charts when left out. */
  color?: string;
}

interface TimeSeriesChartProps {
  /** The name of the chart, such as "Responses per minute". */
  title: string;
  /** Leaves the visible title to a heading above. */
  hidesTitle?: boolean;
  /** Unix milliseconds, oldest first. */
  times: readonly number[];
  /** The time zone in which the times are shown, such as "UTC"; that of this machine when left out. */
  timeZone?: string;
  series: readonly Series[];
  format?: (value: number | null | undefined) => string;
  kind?: 'line' | 'area' | 'bars';
  /** Puts the series on each other, the last one on the ground. */
  stacked?: boolean;
  /** Charts with the same key show the same moment under the pointer. */
  syncKey?: string;
  height?: number;
}

/**
 * A chart over time in the colours of the theme, with a legend that shows the values under the pointer. Screen readers get a
 * table with the latest, smallest and largest value of each line.
 */
export function TimeSeriesChart(props: TimeSeriesChartProps) {
  const { title, times, series, format = formatCompact, kind = 'area' } = props;
  const { hidesTitle = false, height = 180, stacked = false, syncKey, timeZone } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const scheme = useComputedColorScheme('light');
  const titleId = useId();
  const shape = JSON.stringify([
    series.map(({ label, color }) => [label, color]),
    kind,
    height,
    stacked,
    timeZone,
    scheme,
  ]);
  const lines = stacked ? stack(series) : series.map(({ values }) => [...values]);
  const data: UPlot.AlignedData = [times.map((at) => at / 1000), ...lines];
  const latest = useRef({ data, series, kind, height, syncKey, timeZone, format });
  useEffect(() => {
    latest.current = { data, series, kind, height, syncKey, timeZone, format };
  });

  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const { data: first, ...look } = latest.current;
    const options = plotOptions(element, {
      ...look,
      format: (value) => latest.current.format(value),
      valuesOf: (line) => latest.current.series[line]?.values ?? [],
    });
    const made = new UPlot(options, first, element);
    plot.current = made;
    const resize = () => made.setSize({ width: element.clientWidth, height: look.height });
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
    // `shape` is everything that decides how it is drawn; new values alone are set below.
  }, [shape]);

  useEffect(() => {
    plot.current?.setData(data);
  });

  return (
    <figure className={classes['root']} aria-labelledby={titleId}>
      <figcaption id={titleId} className={hidesTitle ? 'visually-hidden' : classes['title']}>
        {title}
      </figcaption>
      <div ref={host} aria-hidden="true" className={classes['plot']} style={{ minHeight: height }} />
      <Summary title={title} series={series} format={format} />
    </figure>
  );
}

function Summary({
  title,
  series,
  format,
}: Required<Pick<TimeSeriesChartProps, 'title' | 'series' | 'format'>>) {
  return (
    <div className="visually-hidden">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Latest</th>
            <th scope="col">Smallest</th>
            <th scope="col">Largest</th>
          </tr>
        </thead>
        <tbody>
          {series.map(({ label, values }) => {
            const known = values.filter((value) => value !== null);
            return (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{format(known.at(-1))}</td>
                <td>{format(known.length === 0 ? null : Math.min(...known))}</td>
                <td>{format(known.length === 0 ? null : Math.max(...known))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The top of each series when it stands on those after it. A gap is as high as nothing. */
function stack(series: readonly Series[]): number[][] {
  const tops: number[][] = [];
  let below: readonly number[] = [];
  for (const { values } of series.toReversed()) {
    const top = values.map((value, at) => (value ?? 0) + (below[at] ?? 0));
    tops.unshift(top);
    below = top;
  }
  return tops;
}

type Look = Required<Pick<TimeSeriesChartProps, 'series' | 'kind' | 'height' | 'format'>> & {
  syncKey: string | undefined;
  timeZone: string | undefined;
  /** The values themselves, which differ from the heights at which they are drawn. */
  valuesOf: (line: number) => readonly (number | null)[];
};

/** The moments whose neighbours are both unknown: a line would not show them. */
function lonely(plot: UPlot, line: number): number[] {
  const values = plot.data[line] ?? [];
  const isKnown = (at: number) => typeof values[at] === 'number';
  return [...values.keys()].filter((at) => isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1));
}

function plotOptions(element: HTMLElement, look: Look): UPlot.Options {
  const { series, kind, height, format, syncKey, timeZone, valuesOf } = look;
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: token('--text-faint'), font, ticks: { show: false } };
  const bars = UPlot.paths.bars?.({ size: [0.7, 24], radius: 0.2 });
  return {
    width: element.clientWidth,
    height,
    padding: [8, 18, 0, 0],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: false, y: false },
      ...(syncKey !== undefined && { sync: { key: syncKey } }),
    },
    legend: { live: true },
    ...(timeZone !== undefined && {
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), timeZone),
    }),
    scales: {
      ...(kind === 'bars' && { x: { range: roomForBars } }),
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 80,
        values: (plot, splits) => {
          const { mark } = timesOf(plot, timeZone);
          return splits.map((seconds) => mark(seconds * 1000));
        },
      },
      {
        ...axis,
        grid: { stroke: token('--chart-grid'), width: 1 },
        size: 52,
        // A chart without values has no scale.
        splits: ({ data: [, ...lines] }, _axis, _min, max) =>
          lines.some((values) => Array.from(values).some((value) => value)) ? fewSplits(max) : [0],
        values: (_plot, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {
        label: '',
        value: (plot, seconds) => (seconds === null ? '' : timesOf(plot, timeZone).moment(seconds * 1000)),
      },
      ...series.map(({ label, color }, at): UPlot.Series => {
        const stroke = token(color ?? `--chart-${(at % 8) + 1}`);
        return {
          label,
          stroke,
          width: kind === 'bars' ? 0 : 1.75,
          points: {
            show: false,
            filter: (plot, line) => (kind === 'bars' ? null : lonely(plot, line)),
            size: 5,
          },
          // The latest value while the pointer is elsewhere.
          value: (_plot, _top, line, moment) => {
            const values = valuesOf(line - 1);
            return format(moment === null ? latestOf(values) : values[moment]);
          },
          ...(kind !== 'line' && {
            fill: kind === 'bars' ? stroke : `color-mix(in srgb, ${stroke} 14%, transparent)`,
          }),
          ...(kind === 'bars' && bars !== undefined && { paths: bars }),
        };
      }),
    ],
  };
}

/** A bar stands around its moment, so the first and the last need half a step more. */
function roomForBars({ data: [times] }: UPlot, min: number, max: number): [number, number] {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  return [min - half, max + half];
}

function timesOf({ data: [times] }: UPlot, timeZone: string | undefined): ChartTimes {
  return chartTimes(
    Array.from(times, (seconds) => seconds * 1000),
    timeZone,
  );
}

function latestOf(values: ArrayLike<number | null | undefined> | undefined): number | null | undefined {
  return Array.from(values ?? []).findLast((value) => value !== null);
}

/** Four or five round marks from nothing to `max`. */
function fewSplits(max: number): number[] {
  const rough = max / 4;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * magnitude >= rough) ?? 10) * magnitude;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}
