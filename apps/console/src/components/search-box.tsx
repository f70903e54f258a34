import { CloseButton, Kbd, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import classes from './filter-bar.module.css';

interface SearchBoxProps {
  label: string;
  placeholder?: string;
  value: string;
  /** Called a moment after the last key. */
  onChange: (value: string) => void;
  /** Says why a text cannot be searched for; undefined for one that can. */
  fault?: (typed: string) => string | undefined;
}

const settleMs = 250;

/** A field to search by. The key `/` puts the focus into it from anywhere on the page. */
export function SearchBox({ label, placeholder = label, value, onChange, fault }: SearchBoxProps) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  if (value !== known) {
    setKnown(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === known) return undefined;
    const timer = setTimeout(() => onChange(typed), settleMs);
    return () => clearTimeout(timer);
  }, [typed, known, onChange]);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  return (
    <TextInput
      ref={input}
      type="search"
      className={classes['search'] ?? ''}
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      error={fault?.(typed)}
      onChange={(event) => setTyped(event.currentTarget.value)}
      leftSection={<IconSearch size={15} />}
      rightSection={
        typed === '' ? (
          <Kbd size="xs" aria-hidden>
            /
          </Kbd>
        ) : (
          <CloseButton size="sm" aria-label="Clear the search" onClick={() => setTyped('')} />
        )
      }
    />
  );
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
