import { NotUnlockedError } from '../api/request.ts';
import { showNotice } from './notices.tsx';
import { describeError } from './states.tsx';

/** Says for a moment, in a corner, that something was done. */
export function notifyDone(message: string): void {
  void showNotice({ message, color: 'green' });
}

/** Says that something could not be done, and why. Says nothing if the dialog of the token was closed. */
export function notifyFailed(what: string, error: unknown): void {
  if (error instanceof NotUnlockedError) return;
  const { title } = describeError(error);
  void showNotice({ title: what, message: title, color: 'red', autoClose: 10_000, role: 'alert' });
}
