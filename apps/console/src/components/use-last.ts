import { useState } from 'react';

/** The last value that was not undefined: a dialog that closes goes on showing its content. */
export function useLast<T>(value: T | undefined): T | undefined {
  const [last, setLast] = useState(value);
  if (value !== undefined && value !== last) setLast(value);
  return value ?? last;
}
