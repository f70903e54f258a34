import type { TestContext } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** A limit of the client that the test expects. */
    remark?: string;
  }
}

/** Says in docs/tested-clients.md, beside the feature, what the client itself cannot do or does in its own way. */
export function remark({ task }: TestContext, text: string): void {
  task.meta.remark = text;
}
