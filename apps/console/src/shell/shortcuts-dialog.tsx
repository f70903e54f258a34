import { Kbd, Modal } from '@mantine/core';
import { places } from './places.ts';
import classes from './shell.module.css';

const shortcuts = [
  ...places.map(({ key, word }) => [`g ${key}`, word] as const),
  ['/', 'Search this page'],
  ['?', 'This list'],
] as const;

/** Shows where each key leads. */
export function ShortcutsDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Keyboard" size="sm">
      <dl className={classes['shortcuts']}>
        {shortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
