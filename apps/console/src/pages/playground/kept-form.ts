import { emptyForm, type RequestForm } from './request-body.ts';

/** Reads the form as it was typed before this page was loaded again. Members of another version are left out. */
export function readForm(storage: Pick<Storage, 'getItem'>, name: string): RequestForm {
  const kept = parsed(storage.getItem(name));
  const known = Object.entries(emptyForm).map(([field, initial]) => {
    const value = kept[field];
    return [field, typeof value === typeof initial ? value : initial];
  });
  return Object.fromEntries(known) as RequestForm; // Each member has the type of its default.
}

function parsed(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Keeps it in this tab. A form that is too large for the browser's storage is not kept. */
export function keepForm(storage: Pick<Storage, 'setItem'>, name: string, form: RequestForm): void {
  try {
    storage.setItem(name, JSON.stringify(form));
  } catch {
    // Nothing depends on it.
  }
}
