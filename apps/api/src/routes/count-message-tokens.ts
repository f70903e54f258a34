import { countMessageTokensSchema, messageTokensSchema } from '@sluice/protocols';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { type CountInputTokensContext, countedTokens } from './count-input-tokens.ts';
import { messagesProtocol } from './messages-protocol.ts';
import { contextErrors, pendingBody } from './request-body.ts';

export const countMessageTokens = defineRoute({
  name: 'countMessageTokens',
  method: 'POST',
  path: '/messages/count_tokens',
  summary: 'Counts the tokens that a model would be given for a message, and calls none.',
  body: {
    schema: countMessageTokensSchema,
    example: { model: 'simulator', messages: [{ role: 'user', content: 'Hello!' }] },
    parse: (request, { json: reader }: CountInputTokensContext) =>
      pendingBody(request, reader, { form: 'count_message_tokens' }),
  },
  isRead: true,
  answers: [json(messageTokensSchema)],
  errors: [...anyErrors, ...bodyErrors, ...contextErrors],
  protocol: messagesProtocol,
  async handle({ body: pending, request }, context: CountInputTokensContext) {
    const { tokens } = await countedTokens(request, pending, context);
    return { input_tokens: tokens };
  },
});
