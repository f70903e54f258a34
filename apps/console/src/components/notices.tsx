import type { NotificationData } from '@mantine/notifications';
import { useSyncExternalStore } from 'react';
import classes from './notices.module.css';

/** The library that shows notices, loaded when there is the first one to show. */
type Library = typeof import('@mantine/notifications');

interface Corner {
  library?: Library;
  /** A notice for which the library could not be loaded. */
  plain?: NotificationData | undefined;
}

let corner: Corner = {};
const listeners = new Set<() => void>();

/** Shows a notice in the corner: without its library, which a service that is away cannot give, in plain text. */
export async function showNotice(notice: NotificationData): Promise<void> {
  const library = corner.library ?? (await import('@mantine/notifications').catch(() => undefined));
  setCorner(library === undefined ? { plain: notice } : { library });
  library?.notifications.show(notice);
}

/** Takes a notice away that was shown with this id. */
export function hideNotice(id: string): void {
  if (corner.plain?.id === id) setCorner({});
  corner.library?.notifications.hide(id);
}

function setCorner(next: Corner): void {
  corner = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The corner where notices stand; one for the whole console. */
export function Notices() {
  const { library, plain } = useSyncExternalStore(subscribe, () => corner);
  // The newest stands at the bottom. Some stay until they are closed, and what had to wait for that would be seen too late or by nobody.
  if (library !== undefined) return <library.Notifications position="bottom-right" limit={Infinity} />;
  if (plain === undefined) return null;
  return (
    <div className={classes['plain']} role="alert">
      <div>
        {plain.title !== undefined && <strong>{plain.title}</strong>}
        <p>{plain.message}</p>
      </div>
      <button type="button" onClick={() => setCorner({})}>
        Close
      </button>
    </div>
  );
}
