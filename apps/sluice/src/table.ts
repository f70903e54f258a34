import { printableLine } from './printable.ts';

/** Rows of equal length as lines of text, each column as wide as its longest cell. The first row holds the titles. Others may have written what is in the cells. */
export function tableText(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(printableLine));
  const widths = rows[0]?.map((_title, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export type Column<Row> = readonly [title: string, cell: (row: Row) => string];

/** A table with a line for each row, like `tableText`. */
export function columnsText<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return tableText([
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, cell]) => cell(row))),
  ]);
}
