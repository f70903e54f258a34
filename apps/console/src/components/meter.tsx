import classes from './meter.module.css';

interface MeterProps {
  /** The name of the meter for screen readers: "Slots in use". */
  label: string;
  value: number;
  /** The whole bar. Nothing is drawn for 0. */
  max: number;
  /** The figures in words, such as "12 of 16". */
  text: string;
  /** A place on the bar that the value is compared with, such as a fair share. */
  marker?: number | undefined;
  tone?: 'plain' | 'warn' | 'bad' | 'quiet';
}

/** A bar for a share in use. Figures stand beside it, so nothing depends on colour and length alone. */
export function Meter({ label, value, max, text, marker, tone = 'plain' }: MeterProps) {
  const percent = (part: number) => `${max <= 0 ? 0 : Math.min(100, Math.max(0, (part / max) * 100))}%`;
  return (
    <span
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(max, value)}
      aria-valuenow={value}
      aria-valuetext={text}
      className={classes['track']}
      data-tone={tone}
    >
      <span className={classes['fill']} style={{ width: percent(value) }} />
      {marker !== undefined && <span className={classes['marker']} style={{ left: percent(marker) }} />}
    </span>
  );
}

/** The tone of something that is used up: a warning from nine tenths on, bad at its limit. */
export function toneOfUse(value: number, max: number): 'plain' | 'warn' | 'bad' {
  if (max <= 0 || value >= max) return 'bad';
  return value >= max * 0.9 ? 'warn' : 'plain';
}
