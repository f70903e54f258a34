import { Button } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './filter-bar.module.css';
import { type FilterOption, MultiFilter } from './multi-filter.tsx';
import type { Filters } from './use-filters.ts';

export interface FilterField {
  /** The parameter of the address. */
  key: string;
  label: string;
  options: readonly FilterOption[];
  allowsOther?: boolean;
  allowsOne?: boolean;
}

interface FilterBarProps {
  filters: Filters;
  fields: readonly FilterField[];
  /** Shown before the filters, such as a `SearchBox`. */
  children?: ReactNode;
  /** Shown at the end, such as a count. */
  end?: ReactNode;
}

/** A row of filters, each a list that completes itself. The choice is kept in the address; see `useFilters`. */
export function FilterBar({ filters, fields, children, end }: FilterBarProps) {
  return (
    <div className={classes['bar']} role="search">
      {children}
      {fields.map(({ key, ...field }) => (
        <MultiFilter
          key={key}
          {...field}
          values={filters.values[key] ?? []}
          onChange={(values) => filters.set(key, values)}
        />
      ))}
      {filters.count > 0 && (
        <Button variant="subtle" color="gray" leftSection={<IconX size={14} />} onClick={filters.clear}>
          Clear filters
        </Button>
      )}
      {end !== undefined && <div className={classes['end']}>{end}</div>}
    </div>
  );
}
