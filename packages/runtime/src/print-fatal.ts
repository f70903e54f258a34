import type { FatalError } from './fatal-error.ts';
import { maskSecrets } from './mask-secrets.ts';

/** Writes it on standard error as one line; a list below the message keeps a line for each of its entries. */
export function printFatal({ message, isReported }: FatalError): void {
  if (isReported) return;
  console.error(`sluice: ${maskSecrets(message).replaceAll(/\s*\n(?! {2}\S)\s*/g, ' ')}`);
}
