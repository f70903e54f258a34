/** Round numbers that cover a range, with steps of 1, 2 or 5 times a power of ten. At least two of them. */
export function ticks(low: number, high: number, about: number): number[] {
  const span = high > low ? high - low : 1;
  const raw = span / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999) ?? raw;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const marks: number[] = [];
  for (let at = first; at <= Math.max(last, first + 1); at += 1) marks.push(at * step);
  return marks;
}

/** A tick without digits that say nothing. */
export function tickLabel(value: number): string {
  return Number(value.toPrecision(6)).toLocaleString('en-US', { maximumFractionDigits: 3 });
}
