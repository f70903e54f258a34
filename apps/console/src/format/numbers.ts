/** Numbers as people read them. Every function gives a dash for an unknown value. */
export const unknown = '–';

type Maybe = number | null | undefined;

const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const precise = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** `1,234,567` */
export function formatCount(value: Maybe): string {
  return value === null || value === undefined ? unknown : whole.format(value);
}

/** `1 slot`, `1,234 slots` */
export function countOf(value: number, what: string): string {
  return `${whole.format(value)} ${what}${value === 1 ? '' : 's'}`;
}

/** `1.2M`; up to 9,999 in full. Also for tokens. */
export function formatCompact(value: Maybe): string {
  if (value === null || value === undefined) return unknown;
  return Math.abs(value) < 10_000 ? whole.format(value) : compact.format(value);
}

/** `12.3/s`, and `4.5/min` for rates below one in two seconds. */
export function formatRate(perSecond: Maybe): string {
  if (perSecond === null || perSecond === undefined) return unknown;
  if (perSecond === 0) return '0/s';
  return perSecond >= 0.5 ? `${precise.format(perSecond)}/s` : `${precise.format(perSecond * 60)}/min`;
}

const money = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `1,234.50`, and three digits of what is less than one: `0.0123`. */
export function formatMoney(value: Maybe): string {
  if (value === null || value === undefined) return unknown;
  return value !== 0 && value < 1 ? precise.format(value) : money.format(value);
}

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `1.5 MiB` */
export function formatBytes(value: Maybe): string {
  if (value === null || value === undefined) return unknown;
  let power = 0;
  // Rounded first, so that a value just below a unit becomes that unit.
  while (power < byteUnits.length - 1 && Math.round(value / 1024 ** power) >= 1024) power += 1;
  const amount = value / 1024 ** power;
  return `${amount < 100 ? precise.format(amount) : whole.format(Math.round(amount))} ${byteUnits[power]}`;
}

/** `42 %` of a share from 0 to 1. */
export function formatShare(share: Maybe): string {
  if (share === null || share === undefined) return unknown;
  const percent = share * 100;
  return `${percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}
