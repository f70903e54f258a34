import classes from './sparkline.module.css';

interface SparklineProps {
  /** Oldest first; null is a gap. */
  values: readonly (number | null)[];
  /** Its content in words, for screen readers. Without it, the line is decoration beside a figure that says the same. */
  label?: string;
  /** A token: `var(--chart-2)`. */
  color?: string;
  height?: number;
}

const width = 120;

/** A small line without axes. */
export function Sparkline({ values, label, color = 'var(--chart-1)', height = 28 }: SparklineProps) {
  const top = Math.max(1e-9, ...values.map((value) => value ?? 0));
  const x = (at: number) => (values.length < 2 ? 0 : (at / (values.length - 1)) * width);
  const y = (value: number) => height - 1.5 - (value / top) * (height - 3);
  let line = '';
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const before = at === 0 ? null : values[at - 1];
    line += `${before === null || before === undefined ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
  }
  const hasGap = values.includes(null);
  return (
    <svg
      className={classes['root']}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      height={height}
      {...(label === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': label })}
    >
      {!hasGap && values.length > 1 && (
        <path d={`${line}L${width} ${height}L0 ${height}Z`} fill={color} opacity={0.12} />
      )}
      <path d={line} fill="none" stroke={color} strokeWidth={1.5} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
