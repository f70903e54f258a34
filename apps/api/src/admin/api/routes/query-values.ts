import { z } from 'zod';

/** Values of a query of the admin API. They arrive as text; a value that comes twice is a list, and refused. */

function value<Schema extends z.ZodType>(
  schema: Schema,
  read: (text: string) => z.input<Schema> | undefined,
  message: string,
) {
  return z.preprocess((given, context) => {
    if (given === undefined) return undefined;
    const found = typeof given === 'string' ? read(given) : undefined;
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', params: { code: 'invalid_value', message } });
    return z.NEVER;
  }, schema);
}

/** The number of an event: a whole number from 0. */
export function eventNumber(name: string) {
  return value(
    z.int().min(0),
    (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    `'${name}' must be the number of an event: a whole number from 0.`,
  );
}

/** `true` or `false`; false without it. */
export function isTrue(name: string) {
  return value(
    z.boolean().meta({ default: false }),
    (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
    `'${name}' must be true or false.`,
  ).default(false);
}

/** The number of elements of a page. */
export function pageSize(most: number, usual: number) {
  return value(
    z.int().min(1).max(most).meta({ default: usual }),
    (text) => {
      const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
      return number >= 1 && number <= most ? number : undefined;
    },
    `'limit' must be a whole number from 1 to ${most}.`,
  ).default(usual);
}

/** A place in a list, as an earlier answer named it. */
export function placeInLog(name: string, form: RegExp) {
  return value(
    z.string().regex(form),
    (text) => (form.test(text) ? text : undefined),
    `'${name}' must be what an answer has called 'next'.`,
  );
}
