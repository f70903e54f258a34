import type { NotificationData } from '@mantine/notifications';
import { lazy, Suspense, useSyncExternalStore } from 'react';

/** The library that shows notices, loaded when there is the first one to show. */
const load = () => import('@mantine/notifications');

const Stack = lazy(async () => ({ default: (await load()).Notifications }));

let isWanted = false;
const listeners = new Set<() => void>();

/** Shows a notice in the corner. A notice before the corner is loaded waits for it. */
export async function showNotice(notice: NotificationData): Promise<void> {
  isWanted = true;
  for (const listener of listeners) listener();
  const { notifications } = await load();
  notifications.show(notice);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The corner where notices stand; one for the whole console. */
export function Notices() {
  const isShown = useSyncExternalStore(subscribe, () => isWanted);
  if (!isShown) return null;
  return (
    <Suspense>
      <Stack position="bottom-right" />
    </Suspense>
  );
}
