import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

/** Has spies on acts of Node's own modules seen by whoever imported those acts by name, too, until the test is over. */
export function spyInImports(...spies: { mockRestore: () => void }[]): void {
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
    syncBuiltinESMExports();
  });
}
