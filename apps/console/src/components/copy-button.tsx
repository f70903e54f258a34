import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy } from '@tabler/icons-react';

/** Copies a text. `label` names it: "Copy the id". */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const { copied, copy } = useClipboard({ timeout: 1_500 });
  return (
    <Tooltip label={copied ? 'Copied' : label}>
      <ActionIcon size="sm" aria-label={label} onClick={() => copy(value)}>
        {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}
