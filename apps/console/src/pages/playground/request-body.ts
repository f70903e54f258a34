/** The form of the playground, as it was typed. */
export interface RequestForm {
  model: string;
  instructions: string;
  input: string;
  /** Whether the input is items as a JSON array, and not the text of a message. */
  isInputItems: boolean;
  /** Tools as a JSON array; empty for none. */
  tools: string;
  /** Empty for the default. */
  temperature: string;
  maxOutputTokens: string;
  /** Empty for the default. */
  effort: string;
  /** Empty for the default. */
  tier: string;
  isStored: boolean;
  isStreamed: boolean;
  isBackground: boolean;
}

/** The members of a request that the form has a field for. A problem of another one is shown with the answer. */
export const requestFields = [
  'model',
  'instructions',
  'input',
  'tools',
  'temperature',
  'max_output_tokens',
  'reasoning',
  'service_tier',
  'store',
  'stream',
  'background',
] as const;
export type RequestField = (typeof requestFields)[number];

/** A value that cannot be sent, and the field that it stands in. */
export interface FormProblem {
  field: RequestField;
  message: string;
}

export const emptyForm: RequestForm = {
  model: '',
  instructions: '',
  input: 'Explain in three sentences what a sluice is.',
  isInputItems: false,
  tools: '',
  temperature: '',
  maxOutputTokens: '',
  effort: '',
  tier: '',
  isStored: true,
  isStreamed: true,
  isBackground: false,
};

/** Makes the body of the request, or finds the field without a valid value. */
export function bodyOf(form: RequestForm): { body: Record<string, unknown> } | { problem: FormProblem } {
  const input = inputOf(form);
  if ('problem' in input) return input;
  const tools = listOf(form.tools, 'tools');
  if ('problem' in tools) return tools;
  const temperature = numberOf(form.temperature, 'temperature');
  if ('problem' in temperature) return temperature;
  const tokens = numberOf(form.maxOutputTokens, 'max_output_tokens');
  if ('problem' in tokens) return tokens;
  return {
    body: {
      model: form.model,
      input: input.value,
      ...(form.instructions.trim() !== '' && { instructions: form.instructions }),
      ...(tools.value !== undefined && { tools: tools.value }),
      ...(temperature.value !== undefined && { temperature: temperature.value }),
      ...(tokens.value !== undefined && { max_output_tokens: tokens.value }),
      ...(form.effort !== '' && { reasoning: { effort: form.effort } }),
      ...(form.tier !== '' && { service_tier: form.tier }),
      ...(!form.isStored && { store: false }),
      ...(form.isStreamed && { stream: true }),
      ...(form.isBackground && { background: true }),
    },
  };
}

type Read<T> = { value: T } | { problem: FormProblem };

function inputOf({ input, isInputItems }: RequestForm): Read<unknown> {
  return isInputItems ? listOf(input, 'input') : { value: input };
}

function listOf(text: string, field: RequestField): Read<unknown[] | undefined> {
  if (text.trim() === '') return { value: undefined };
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return { value };
    return { problem: { field, message: 'This must be a JSON array.' } };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: { field, message: `This is no JSON: ${why}` } };
  }
}

function numberOf(text: string, field: RequestField): Read<number | undefined> {
  if (text.trim() === '') return { value: undefined };
  const value = Number(text);
  return Number.isFinite(value) ? { value } : { problem: { field, message: 'This must be a number.' } };
}
