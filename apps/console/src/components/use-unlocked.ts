import { actionToken } from '../api/action-token.ts';
import { useSession } from '../api/session.ts';

/**
 * Runs what needs the action token once this tab may act: at once, or after the token was entered. It does not run when the dialog
 * is closed, nor in a service without a token, which the dialog says. So nobody fills in a form that cannot be sent.
 */
export function useUnlocked(): (then: () => void) => void {
  const { data: session } = useSession();
  return (then) => {
    if (session === undefined || session.acting === 'open') {
      then();
      return;
    }
    const reason = session.acting === 'off' ? 'off' : actionToken.value === undefined ? 'missing' : 'wrong';
    void actionToken.request(reason).then((token) => {
      if (token !== undefined) then();
    });
  };
}
