import { z } from 'zod';

/** Most characters of the name of a tool: of the Responses API, and of Anthropic's, where clients make long ones of servers and their tools. */
export const longestToolName = { responses: 64, messages: 128 } as const;

/** As the API with the longer ones takes it; `parseCreateResponse` holds the bound of the other. */
export const toolNameSchema = z
  .string()
  .max(longestToolName.messages)
  .regex(/^[a-zA-Z0-9_-]{1,128}$/)
  .meta({ maxLength: longestToolName.responses, pattern: '^[a-zA-Z0-9_-]{1,64}$' });
