/** What the form of the playground holds, as it was typed. */
export interface RequestForm {
  model: string;
  instructions: string;
  /** A text, or items as a JSON array. */
  input: string;
  /** Tools as a JSON array; empty for none. */
  tools: string;
  /** Empty for the default. */
  temperature: string;
  maxOutputTokens: string;
  isStreamed: boolean;
  isBackground: boolean;
}

export type RequestField = 'model' | 'input' | 'tools' | 'temperature' | 'max_output_tokens';

/** A value that cannot be sent, and the field that it stands in. */
export interface FormProblem {
  field: RequestField;
  message: string;
}

export const emptyForm: RequestForm = {
  model: '',
  instructions: '',
  input: 'Explain in three sentences what a sluice is.',
  tools: '',
  temperature: '',
  maxOutputTokens: '',
  isStreamed: true,
  isBackground: false,
};

/** Makes the body of the request, or says what of the form is no value. */
export function bodyOf(form: RequestForm): { body: Record<string, unknown> } | { problem: FormProblem } {
  const input = inputOf(form.input);
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
      ...(form.isStreamed && { stream: true }),
      ...(form.isBackground && { background: true }),
    },
  };
}

type Read<T> = { value: T } | { problem: FormProblem };

/** What begins like a list is one; everything else is the text of a message. */
function inputOf(text: string): Read<unknown> {
  if (!text.trimStart().startsWith('[')) return { value: text };
  return listOf(text, 'input');
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
