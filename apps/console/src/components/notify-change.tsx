import { Button } from '@mantine/core';
import { hideNotice, showNotice } from './notices.tsx';
import { notifyDone, notifyFailed } from './notify.ts';

interface Change {
  /** Says what was changed. */
  words: string;
  /** Whether it is stored as safely as the setting `durability` asks for. */
  isSafe: boolean;
  /** Makes the same change once more, and returns whether it is as safe by now. Only for a change that can be undone by no other. */
  again?: () => Promise<boolean>;
}

let shown = 0;

/** Says that a change is made. The notice of one that is not safe yet stays, and offers to look again. */
export function notifyChange({ words, isSafe, again }: Change): void {
  if (isSafe) {
    notifyDone(words);
    return;
  }
  shown += 1;
  const id = `change-${shown}`;
  const lookAgain = async (ask: () => Promise<boolean>) => {
    try {
      const isSafeNow = await ask();
      hideNotice(id);
      notifyChange({ words, isSafe: isSafeNow, again: ask });
    } catch (error) {
      notifyFailed('Nobody knows yet whether it is stored safely.', error);
    }
  };
  const message = (
    <>
      {words} Redis has not yet stored this as safely as the setting <code>durability</code> asks for.{' '}
      {again === undefined ? (
        'Should Redis fail now, look whether it is still so.'
      ) : (
        <Button variant="default" size="compact-sm" onClick={() => void lookAgain(again)}>
          Look again
        </Button>
      )}
    </>
  );
  void showNotice({ id, message, color: 'yellow', autoClose: false, role: 'alert' });
}
