import type { ReactNode } from 'react';
import classes from './small-table.module.css';

export interface SmallColumn<Row> {
  key: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  align?: 'start' | 'end';
  /** Hidden where the table itself has less room than a phone has (`sm`), or than half a laptop (`md`). */
  hideBelow?: 'sm' | 'md';
  /** The column that takes the remaining room. Long texts in it are cut. */
  grows?: boolean;
}

interface SmallTableProps<Row> {
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly SmallColumn<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}

/** A table of few rows, such as one in a panel. For long lists there is `DataTable`. */
export function SmallTable<Row>({ label, columns, rows, rowKey }: SmallTableProps<Row>) {
  return (
    <div className={classes['root']}>
      <table className={classes['table']} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ key, header, align, hideBelow, grows }) => (
              <th key={key} scope="col" data-align={align} data-below={hideBelow} data-grows={grows}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ key, cell, align, hideBelow, grows }) => (
                <td key={key} data-align={align} data-below={hideBelow} data-grows={grows}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
