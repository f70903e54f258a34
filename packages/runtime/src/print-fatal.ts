import type { FatalError } from './fatal-error.ts';
import { maskSecrets } from './mask-secrets.ts';

/** Prints the message on standard error as one line. Indented entries of a list below it keep their own lines. */
export function printFatal({ message, isReported }: FatalError): void {
  if (isReported) return;
  console.error(`sluice: ${maskSecrets(message).replaceAll(/\s*\n(?! {2}\S)\s*/g, ' ')}`);
}
