import { Button, Group, Modal, PasswordInput, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import { actionToken, type TokenQuestion } from '../api/action-token.ts';
import { ApiError } from '../api/api-error.ts';
import { fetchSession, useSession } from '../api/session.ts';
import { CodeBlock } from '../components/code-block.tsx';
import { describeError } from '../components/states.tsx';

/** The dialog of the action token. It opens when `ActionToken.request` asks, from the header or for an act. */
export function ActionTokenDialog() {
  const question = useSyncExternalStore(actionToken.subscribe, () => actionToken.question);
  const { data: session } = useSession();
  const isOff = question?.reason === 'off' || session?.acting === 'off';
  return (
    <Modal
      opened={question !== undefined}
      onClose={() => question?.answer(undefined)}
      title={isOff ? 'This console is read-only' : 'Action token'}
    >
      {question !== undefined && (isOff ? <ActingIsOff /> : <TokenForm question={question} />)}
    </Modal>
  );
}

function ActingIsOff() {
  return (
    <>
      <Text mb="sm">
        The service has no action token, so nothing can be changed here and no prompt or answer can be shown.
        Start it with a token of at least 16 characters, then enter it here:
      </Text>
      <CodeBlock text="ADMIN_ACTION_TOKEN=$(openssl rand -hex 24)" label="Copy the setting" />
    </>
  );
}

function TokenForm({ question }: { question: TokenQuestion }) {
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const [error, setError] = useState(
    question.reason === 'wrong' ? 'The service refused this token.' : undefined,
  );
  const [isRunning, setRunning] = useState(false);
  const isKept = actionToken.value !== undefined && question.reason === 'asked';
  const unlock = async () => {
    setRunning(true);
    try {
      const { acting } = await fetchSession(typed.trim());
      if (acting !== 'open') {
        setError('This is not the action token of the service.');
        return;
      }
      question.answer(typed.trim());
      await client.invalidateQueries();
    } catch (caught) {
      setError(caught instanceof ApiError ? caught.message : describeError(caught).title);
    } finally {
      setRunning(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim() !== '') void unlock();
      }}
    >
      <Text mb="sm" c="dimmed">
        It permits you to cancel and retry responses, pause queues, manage keys and see prompts and answers.
        Every act is written to the audit log. The token is kept in this tab alone.
      </Text>
      <PasswordInput
        label="Action token"
        description="The value of ADMIN_ACTION_TOKEN of the service"
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setError(undefined);
        }}
        error={error}
        autoComplete="off"
        data-autofocus
        visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
      />
      <Group justify="flex-end" mt="lg">
        {isKept && (
          <Button
            variant="default"
            mr="auto"
            onClick={() => {
              actionToken.set(undefined);
              question.answer(undefined);
            }}
          >
            Lock again
          </Button>
        )}
        <Button variant="default" onClick={() => question.answer(undefined)}>
          Cancel
        </Button>
        <Button type="submit" loading={isRunning} disabled={typed.trim() === ''}>
          Unlock
        </Button>
      </Group>
    </form>
  );
}
