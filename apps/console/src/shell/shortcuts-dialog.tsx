import { Kbd, Modal } from '@mantine/core';
import classes from './shell.module.css';

const shortcuts = [
  ['g o', 'Overview'],
  ['g r', 'Responses'],
  ['g q', 'Queues'],
  ['g m', 'Models'],
  ['g t', 'Tenants'],
  ['g u', 'Usage'],
  ['g k', 'Keys'],
  ['g w', 'Webhooks'],
  ['g c', 'Cells'],
  ['g p', 'Playground'],
  ['g a', 'Audit'],
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
