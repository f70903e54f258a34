/** The names that the api and the worker of Temporal share. */
export const namespace = 'bench';
export const taskQueue = 'generate';
export const workflowType = 'answer';
