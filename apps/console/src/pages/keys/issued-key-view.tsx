import { Button, Group } from '@mantine/core';
import type { IssuedKey } from '@sluice/contract/admin';
import { IconAlertTriangle } from '@tabler/icons-react';
import { CodeBlock } from '../../components/code-block.tsx';
import classes from './keys.module.css';

/** A key that was just made: the only time that it can be seen. */
export function IssuedKeyView({ issued, onDone }: { issued: IssuedKey; onDone: () => void }) {
  return (
    <>
      <p className={classes['warning']} role="alert">
        <IconAlertTriangle size={18} aria-hidden />
        Copy it now. It is kept nowhere, and is not shown again.
      </p>
      <CodeBlock text={issued.key} label="Copy the key" />
      <p className={classes['note']}>
        Its id is <code>{issued.id}</code>. Every api takes it within seconds.
      </p>
      {!issued.is_safe && (
        <p className={classes['note']}>
          It is in effect, but Redis has not yet stored it as safely as the setting <code>durability</code>{' '}
          asks for. Should Redis fail now, look whether the key is still there.
        </p>
      )}
      <Group justify="flex-end" mt="lg">
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </>
  );
}
