import { Button, Loader } from '@mantine/core';
import { IconAlertTriangle, IconInbox, IconRefresh } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { ApiError, UnreachableError } from '../api/api-error.ts';
import classes from './states.module.css';

interface EmptyStateProps {
  title: string;
  /** Advice on how to get something here. */
  children?: ReactNode;
  icon?: ReactNode;
  action?: ReactNode;
}

/** There is nothing to show, and why. */
export function EmptyState({ title, children, icon, action }: EmptyStateProps) {
  return (
    <div className={classes['root']}>
      <span className={classes['icon']} aria-hidden="true">
        {icon ?? <IconInbox size={26} stroke={1.5} />}
      </span>
      <p className={classes['title']}>{title}</p>
      {children !== undefined && <div className={classes['text']}>{children}</div>}
      {action}
    </div>
  );
}

/** Something failed: which error it was, what to do about it, and a button to try again. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const { title, text, code } = describeError(error);
  return (
    <div className={classes['root']} role="alert">
      <span className={classes['icon']} data-tone="error" aria-hidden="true">
        <IconAlertTriangle size={26} stroke={1.5} />
      </span>
      <p className={classes['title']}>{title}</p>
      <div className={classes['text']}>
        {text}
        {code !== undefined && <code className={classes['code']}>{code}</code>}
      </div>
      {onRetry !== undefined && (
        <Button variant="default" leftSection={<IconRefresh size={16} />} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Something is being read. */
export function LoadingState({ label = 'Loading' }: { label?: string }) {
  return (
    <div className={classes['root']} role="status" aria-label={label}>
      <Loader size="sm" color="gray" type="dots" />
    </div>
  );
}

/** An error in words: what happened, and what to do. */
export function describeError(error: unknown): { title: string; text: string; code?: string } {
  if (error instanceof UnreachableError) {
    return {
      title: 'The service does not answer',
      text: 'It may be starting, stopped, or not reachable from here. This page tries again by itself.',
    };
  }
  if (error instanceof ApiError) {
    const hint = hints[error.status];
    const code = error.param === null ? error.code : `${error.code} (${error.param})`;
    return { title: error.message, text: hint ?? 'The log of the service may say more.', code };
  }
  const text = error instanceof Error ? error.message : String(error);
  return { title: 'This page failed', text };
}

const hints: Partial<Record<number, string>> = {
  400: 'Correct the value that the message names.',
  401: 'Log in again, or enter the token that the message names.',
  404: 'It may have expired, or never have existed here.',
  409: 'It changed in the meantime. Load it again.',
  429: 'Wait a moment, then try again.',
  503: 'Redis may be away, or the service not ready yet. Try again in a moment.',
};
