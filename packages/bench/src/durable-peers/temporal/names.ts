/** What the api and the worker of Temporal call the same. */
export const namespace = 'bench';
export const taskQueue = 'generate';
export const workflowType = 'answer';
