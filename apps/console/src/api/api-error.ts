/** An answer of the admin API that is an error, with the members of its envelope. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly param: string | null;

  constructor(status: number, body: { type: string; code: string; message: string; param: string | null }) {
    super(body.message);
    this.status = status;
    this.type = body.type;
    this.code = body.code;
    this.param = body.param;
  }
}

/** The service did not answer at all. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(cause: unknown) {
    super('The service does not answer.', { cause });
  }
}

/** Reads the error of an answer. An answer without an envelope, such as the page of a proxy, becomes an error that says so. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  return new ApiError(response.status, parseEnvelope(text) ?? unknownError(response.status, text));
}

function parseEnvelope(text: string): ConstructorParameters<typeof ApiError>[1] | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: Record<string, unknown> }; // Each member is looked at below.
    if (typeof error?.['message'] !== 'string') return undefined;
    const word = (member: string, otherwise: string) =>
      typeof error[member] === 'string' ? error[member] : otherwise;
    return {
      type: word('type', 'unknown'),
      code: word('code', 'unknown'),
      message: error['message'],
      param: typeof error['param'] === 'string' ? error['param'] : null,
    };
  } catch {
    return undefined;
  }
}

function unknownError(status: number, text: string) {
  const isPlain = text !== '' && text.length < 300 && !text.includes('<');
  const message = isPlain
    ? text.trim()
    : `The service answered with status ${status} and no error of its own.`;
  return { type: 'unknown', code: `http_${status}`, message, param: null };
}
