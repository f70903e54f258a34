import { useMediaQuery } from '@mantine/hooks';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, useEffect, useRef, useState } from 'react';
import classes from './data-table.module.css';
import { LoadingState } from './states.tsx';

export interface Column<Row> {
  key: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  /** A track of a CSS grid: `8rem`, `minmax(10rem, 2fr)`; `minmax(6rem, 1fr)` when left out. */
  width?: string;
  align?: 'start' | 'end';
  /** Hidden on screens that are narrower than a phone in landscape (`sm`), a tablet (`md`) or a laptop (`lg`). */
  hideBelow?: 'sm' | 'md' | 'lg';
}

interface DataTableProps<Row> {
  /** The name of the table for screen readers: "Responses". */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** Rows in all, when not all of them are loaded. */
  total?: number;
  /** Opens a row that is clicked. One of its cells must have a link that does the same, for the keyboard. */
  onOpen?: (row: Row) => void;
  isSelected?: (row: Row) => boolean;
  /** Called when the last rows come into view. */
  onEnd?: () => void;
  isLoading?: boolean;
  /** Shown instead of rows when there are none and none are loading. */
  empty?: ReactNode;
  /** Pixels. Every row has this height. */
  rowHeight?: number;
}

/**
 * A table of any length: only the rows near the view are in the document. It scrolls with the page, and its head stays in view.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, total, onOpen, isSelected, onEnd, isLoading, empty } = props;
  const { rowHeight = 44 } = props;
  const isShown = {
    sm: useMediaQuery('(min-width: 44em)', true, { getInitialValueInEffect: false }),
    md: useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false }),
    lg: useMediaQuery('(min-width: 80em)', true, { getInitialValueInEffect: false }),
  };
  const shown = columns.filter(({ hideBelow }) => hideBelow === undefined || isShown[hideBelow]);
  const body = useRef<HTMLDivElement>(null);
  const scrollMargin = useOffsetTop(body);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin,
    getItemKey: (at) => {
      const row = rows[at];
      return row === undefined ? at : rowKey(row);
    },
  });
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const isAtEnd = rows.length > 0 && last >= rows.length - 1;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, rows.length, onEnd]);

  const tracks = { gridTemplateColumns: shown.map(({ width }) => width ?? 'minmax(6rem, 1fr)').join(' ') };
  return (
    <div className={classes['scroller']}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={(total ?? rows.length) + 1}
        aria-busy={isLoading === true}
        className={classes['table']}
      >
        <div role="rowgroup" className={classes['head']}>
          <div role="row" aria-rowindex={1} className={classes['row']} style={tracks}>
            {shown.map(({ key, header, align }) => (
              <div key={key} role="columnheader" className={classes['cell']} data-align={align}>
                {header}
              </div>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          ref={body}
          className={classes['body']}
          style={{ height: virtualizer.getTotalSize() }}
        >
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const transform = `translateY(${item.start - scrollMargin}px)`;
            return (
              <TableRow
                key={item.key}
                index={item.index}
                style={{ ...tracks, height: item.size, transform }}
                isSelected={isSelected?.(row)}
                onOpen={onOpen && (() => onOpen(row))}
              >
                {shown.map(({ key, cell, align }) => (
                  <div key={key} role="cell" className={classes['cell']} data-align={align}>
                    {cell(row)}
                  </div>
                ))}
              </TableRow>
            );
          })}
        </div>
      </div>
      {rows.length === 0 && (isLoading === true ? <LoadingState /> : empty)}
    </div>
  );
}

interface TableRowProps {
  index: number;
  style: CSSProperties;
  isSelected: boolean | undefined;
  onOpen: (() => void) | undefined;
  children: ReactNode;
}

/** A row. The keyboard has the link in it; the click on all of it is for the mouse alone. */
function TableRow({ index, style, isSelected, onOpen, children }: TableRowProps) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={classes['row']}
      data-opens={onOpen !== undefined}
      style={style}
      onClick={(event) => {
        if (!isOwnClick(event.target)) onOpen?.();
      }}
    >
      {children}
    </div>
  );
}

/** Whether the click was on something that acts by itself, or ended the selection of a text. */
function isOwnClick(target: EventTarget): boolean {
  const hasSelected = window.getSelection()?.isCollapsed === false;
  return hasSelected || (target instanceof Element && target.closest('a, button, input, label') !== null);
}

/** How far an element is from the top of the document; measured anew when the page changes its height. */
function useOffsetTop(ref: React.RefObject<HTMLElement | null>): number {
  const [offset, setOffset] = useState(0);
  useEffect(() => {
    const measure = () => {
      if (ref.current) setOffset(Math.round(ref.current.getBoundingClientRect().top + window.scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [ref]);
  return offset;
}
