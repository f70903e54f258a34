import type { ErrorComponentProps } from '@tanstack/react-router';
import { ErrorState } from '../components/states.tsx';

/**
 * What stands in place of a page that threw. A chunk that is gone, because the console was built anew, is found by loading the
 * page again.
 */
export function PageFailed({ error, reset }: ErrorComponentProps) {
  const isChunk = /dynamically imported module|module script|preload CSS/i.test(String(error));
  return <ErrorState error={error} onRetry={isChunk ? () => window.location.reload() : reset} />;
}
