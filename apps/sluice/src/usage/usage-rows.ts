import { money } from '@sluice/contract';
import type { UsageSum } from '@sluice/usage';
import { printable, printableJson } from '../printable.ts';
import { tableText } from '../table.ts';
import type { AskedUsage } from './asked-usage.ts';

/** The columns of figures, in both forms. */
const figures = [
  ['responses', ({ responses }) => responses],
  ['failed', ({ failed }) => failed],
  ['input', ({ input }) => input],
  ['cached', ({ cached }) => cached],
  ['output', ({ output }) => output],
  ['reasoning', ({ reasoning }) => reasoning],
  ['uncounted', ({ uncounted }) => uncounted],
  ['slot seconds', ({ slotMs }) => slotMs / 1_000],
  ['spend', ({ spend }) => money.fromStored(spend)],
] as const satisfies [string, (sum: UsageSum) => number][];

export function usageTable(sums: readonly UsageSum[], asked: AskedUsage): string {
  const { groupBy } = asked.query;
  const rows = sums.map((sum) => [
    ...(asked.hasTimes ? [asked.timesOf(sum).since] : []),
    ...groupBy.map((name) => sum[name] ?? ''),
    ...figures.map(([name, of]) =>
      of(sum).toLocaleString('en', { maximumFractionDigits: name === 'spend' ? 6 : 1 }),
    ),
  ]);
  const titles = [...(asked.hasTimes ? ['from'] : []), ...groupBy, ...figures.map(([name]) => name)];
  return tableText([titles, ...rows]);
}

/** One line of JSON. */
export function usageJson({ hour, spend, ...sum }: UsageSum, asked: AskedUsage): string {
  return printableJson(
    JSON.stringify({ ...sum, spend: money.fromStored(spend), ...asked.timesOf({ hour }) }),
  );
}

/** As RFC 4180 has it. */
export function usageCsv(
  sums: readonly UsageSum[],
  asked: AskedUsage,
  { hasTitles = true }: { hasTitles?: boolean } = {},
): string {
  const { groupBy } = asked.query;
  const titles = ['since', 'until', ...groupBy, ...figures.map(([name]) => name.replace(' ', '_'))];
  const rows = sums.map((sum) => {
    const { since, until } = asked.timesOf(sum);
    return [
      since,
      until,
      ...groupBy.map((name) => sum[name] ?? ''),
      // A small amount of money has no exponent.
      ...figures.map(([, of]) =>
        of(sum).toLocaleString('en', { useGrouping: false, maximumFractionDigits: 9 }),
      ),
    ];
  });
  return [...(hasTitles ? [titles] : []), ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n');
}

/** A name that a spreadsheet would take for a formula stands behind an apostrophe. */
function csvCell(given: string): string {
  const text = printable(given);
  const safe = /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
