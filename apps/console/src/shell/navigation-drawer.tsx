import { Drawer } from '@mantine/core';
import { Navigation } from './navigation.tsx';

/** The navigation on a narrow screen. */
export function NavigationDrawer({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      size={260}
      title="Sluice"
      closeButtonProps={{ 'aria-label': 'Close the navigation' }}
    >
      <Navigation inDrawer />
    </Drawer>
  );
}
