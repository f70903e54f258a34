import { Button, Checkbox, Combobox, useCombobox } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useState } from 'react';
import { formatCompact } from '../format/numbers.ts';
import classes from './filter-bar.module.css';

export interface FilterOption {
  value: string;
  label?: string;
  /** How many there are of it. */
  count?: number;
}

export interface MultiFilterProps {
  label: string;
  options: readonly FilterOption[];
  values: readonly string[];
  onChange: (values: readonly string[]) => void;
  /** Whether a value that is no option can be entered. */
  allowsOther?: boolean;
  /** Whether a value that is chosen takes the place of the one before. */
  allowsOne?: boolean;
}

/** A button with a list behind it: type to narrow it, choose any number of values, or one. */
export function MultiFilter({
  label,
  options,
  values: given,
  onChange,
  allowsOther = false,
  allowsOne = false,
}: MultiFilterProps) {
  const values = allowsOne ? given.slice(0, 1) : given;
  const [typed, setTyped] = useState('');
  const combobox = useCombobox({
    onDropdownOpen: () => combobox.focusSearchInput(),
    onDropdownClose: () => {
      setTyped('');
      combobox.resetSelectedOption();
      combobox.focusTarget();
    },
  });
  const gone = values.filter((value) => !options.some((option) => option.value === value));
  const all = [...gone.map((value): FilterOption => ({ value })), ...options];
  const wanted = typed.trim().toLowerCase();
  const found = all.filter((option) => labelOf(option).toLowerCase().includes(wanted));
  const isOther = allowsOther && wanted !== '' && !all.some(({ value }) => value === typed.trim());
  const toggle = (value: string) => {
    const others = values.filter((each) => each !== value);
    onChange(values.includes(value) ? others : [...(allowsOne ? [] : others), value]);
    combobox.updateSelectedOptionIndex('active');
  };
  const chosen = values.map((value) => labelOf(all.find((option) => option.value === value) ?? { value }));

  return (
    <Combobox store={combobox} onOptionSubmit={toggle} width={260} position="bottom-start" shadow="md">
      <Combobox.Target targetType="button" withAriaAttributes={false}>
        <Button
          variant="default"
          className={classes['trigger'] ?? ''}
          data-set={values.length > 0}
          rightSection={<IconChevronDown size={14} />}
          aria-haspopup="listbox"
          aria-expanded={combobox.dropdownOpened}
          onClick={() => combobox.toggleDropdown()}
        >
          {label}
          {chosen.length > 0 && <span className={classes['chosen']}>{summary(chosen)}</span>}
        </Button>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            combobox.selectFirstOption();
          }}
          placeholder={allowsOther ? 'Find or enter one' : 'Find'}
          aria-label={`Find in ${label}`}
        />
        <Combobox.Options
          className={classes['options'] ?? ''}
          aria-label={label}
          aria-multiselectable={!allowsOne}
        >
          {found.map((option) => (
            <Row key={option.value} option={option} isChosen={values.includes(option.value)} />
          ))}
          {isOther && <Combobox.Option value={typed.trim()}>Use “{typed.trim()}”</Combobox.Option>}
          {found.length === 0 && !isOther && <Combobox.Empty>Nothing matches</Combobox.Empty>}
        </Combobox.Options>
        {values.length > 0 && (
          <Combobox.Footer>
            <Button variant="subtle" color="gray" size="compact-xs" fullWidth onClick={() => onChange([])}>
              Clear
            </Button>
          </Combobox.Footer>
        )}
      </Combobox.Dropdown>
    </Combobox>
  );
}

function Row({ option, isChosen }: { option: FilterOption; isChosen: boolean }) {
  const { value, count } = option;
  return (
    <Combobox.Option value={value} active={isChosen} aria-selected={isChosen}>
      <span className={classes['option']}>
        <Checkbox.Indicator checked={isChosen} size="xs" aria-hidden />
        <span className={classes['word']}>{labelOf(option)}</span>
        {count !== undefined && <span className={classes['count']}>{formatCompact(count)}</span>}
      </span>
    </Combobox.Option>
  );
}

function labelOf({ value, label }: FilterOption): string {
  return label ?? value;
}

function summary(chosen: readonly string[]): string {
  const [first = ''] = chosen;
  return chosen.length === 1 ? first : `${chosen.length} chosen`;
}
