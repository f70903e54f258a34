import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { actionToken } from '../api/action-token.ts';
import { sessionQuery } from '../api/session.ts';

/**
 * Runs a step that needs the action token once this tab may act: at once, or after the token was entered. It does not run
 * when the dialog is closed, nor in a service without a token; the dialog says so. So nobody fills in a form that cannot be
 * sent.
 */
export function useUnlocked(): (then: () => void) => void {
  const client = useQueryClient();
  return (then) => {
    void unlock(client).then((isUnlocked) => {
      if (isUnlocked) then();
    });
  };
}

/** A click before the session is known waits for it. If it cannot be read, the step itself fails and says why. */
async function unlock(client: QueryClient): Promise<boolean> {
  const session = await client.ensureQueryData(sessionQuery(actionToken.value)).catch(() => undefined);
  if (session === undefined || session.acting === 'open') return true;
  const reason = session.acting === 'off' ? 'off' : actionToken.value === undefined ? 'missing' : 'wrong';
  return (await actionToken.request(reason)) !== undefined;
}
