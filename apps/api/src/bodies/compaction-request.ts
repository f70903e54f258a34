import type { CreateResponse } from '@sluice/contract';

/** The instructions of a model that sums a conversation up. */
const instructions = `You write the summary by which a conversation goes on. Everything but the messages of the user is then lost, so \
whatever matters of the rest has to be in it: what was asked for and decided, standing instructions, facts, names, numbers and code that are \
still needed, what tools were called with and what they answered, what is done, and what comes next. Write it for yourself, in the \
language of the conversation. Answer with the summary alone. Do not go on with the conversation.`;

/** The last message of the prompt, because models answer the last message of the user. */
const question = 'Write the summary of the conversation up to here.';

/** How many items of the input of a compaction are not the client's. They are the last. */
export const addedItems = 1;

/** The response whose output is the summary of a conversation. It is not to be stored, and nobody learns its id. */
export function compactionRequest({ input, instructions: own, ...request }: CreateResponse): CreateResponse {
  return {
    ...request,
    store: false,
    instructions: own === undefined ? instructions : `${instructions}\n\nBesides:\n\n${own}`,
    input: [...input, { type: 'message', role: 'user', content: question }],
  };
}
