import { Button, Group } from '@mantine/core';

interface RowActsProps {
  /** For screen readers, which read the buttons without their row. */
  name: string;
  /** The word of each button, and its act. */
  acts: readonly (readonly [word: string, act: () => void])[];
}

/** The buttons of a row with which something can be done. */
export function RowActs({ name, acts }: RowActsProps) {
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      {acts.map(([word, act]) => (
        <Button key={word} variant="default" size="compact-sm" aria-label={`${word} ${name}`} onClick={act}>
          {word}
        </Button>
      ))}
    </Group>
  );
}
