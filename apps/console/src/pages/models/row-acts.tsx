import { Button, Group } from '@mantine/core';

interface RowActsProps {
  /** For screen readers, which read the buttons without their row. */
  name: string;
  onChange: () => void;
  onRemove: () => void;
}

/** The buttons of a row that can be changed and removed. */
export function RowActs({ name, onChange, onRemove }: RowActsProps) {
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      <Button variant="default" size="compact-sm" aria-label={`Change ${name}`} onClick={onChange}>
        Change
      </Button>
      <Button variant="default" size="compact-sm" aria-label={`Remove ${name}`} onClick={onRemove}>
        Remove
      </Button>
    </Group>
  );
}
