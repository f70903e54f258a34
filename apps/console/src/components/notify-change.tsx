import { Button } from '@mantine/core';
import { useState } from 'react';
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
export function notifyChange(change: Change): void {
  const { words, isSafe, again } = change;
  if (isSafe) {
    notifyDone(words);
    return;
  }
  shown += 1;
  const id = `change-${shown}`;
  const answered = (isSafeNow: boolean) => {
    hideNotice(id);
    notifyChange({ ...change, isSafe: isSafeNow });
  };
  const message = (
    <>
      {words} Redis has not yet stored this as safely as the setting <code>durability</code> asks for.{' '}
      {again === undefined ? (
        'Should Redis fail now, look whether it is still so.'
      ) : (
        <LookAgain ask={again} onAnswer={answered} />
      )}
    </>
  );
  void showNotice({ id, message, color: 'yellow', autoClose: false, role: 'alert' });
}

interface LookAgainProps {
  ask: () => Promise<boolean>;
  onAnswer: (isSafe: boolean) => void;
}

/** Asks once at a time: the change is made again, and in the audit log, with each question. */
function LookAgain({ ask, onAnswer }: LookAgainProps) {
  const [isAsking, setAsking] = useState(false);
  const lookAgain = async () => {
    setAsking(true);
    try {
      onAnswer(await ask());
    } catch (error) {
      notifyFailed('Nobody knows yet whether it is stored safely.', error);
    } finally {
      setAsking(false);
    }
  };
  return (
    <Button variant="default" size="compact-sm" loading={isAsking} onClick={() => void lookAgain()}>
      Look again
    </Button>
  );
}
