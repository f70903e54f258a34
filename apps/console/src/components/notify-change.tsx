import { Button } from '@mantine/core';
import { hideNotice, showNotice } from './notices.tsx';
import { notifyDone, notifyFailed } from './notify.ts';

interface Change {
  /** Says what was changed. */
  words: string;
  /** Whether it is stored as safely as the setting `durability` asks for. */
  isSafe: boolean;
  /** Makes the same change once more, which changes nothing, and returns whether it is as safe by now. */
  again: () => Promise<boolean>;
}

let shown = 0;

/** Says that a change is made. One that is not safe yet keeps its notice, which offers to look again. */
export function notifyChange({ words, isSafe, again }: Change): void {
  if (isSafe) {
    notifyDone(words);
    return;
  }
  shown += 1;
  const id = `change-${shown}`;
  const lookAgain = async () => {
    hideNotice(id);
    try {
      notifyChange({ words, isSafe: await again(), again });
    } catch (error) {
      notifyFailed('Nobody knows yet whether it is stored safely.', error);
    }
  };
  const message = (
    <>
      {words} Redis has not yet stored this as safely as the setting <code>durability</code> asks for.{' '}
      <Button variant="default" size="compact-sm" onClick={() => void lookAgain()}>
        Look again
      </Button>
    </>
  );
  void showNotice({ id, message, color: 'yellow', autoClose: false, role: 'alert' });
}
