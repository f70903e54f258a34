/** A JSON value that is written as it is. */
export type Json = Record<string, unknown>;
