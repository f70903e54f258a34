import { z } from 'zod';

/** Values that several schemas of the admin API have in common. */

/** A moment: Unix milliseconds of the store's clock. */
export const moment = z.int().min(0);
/** A span of time in milliseconds. */
export const span = z.number().min(0);
export const count = z.int().min(0);

/** What a word stands for how many times. */
export const countedSchema = z.object({ value: z.string(), count });
export type Counted = z.output<typeof countedSchema>;

/** How the caller of a response gets it. */
export const modes = ['whole', 'stream', 'background'] as const;
export type Mode = (typeof modes)[number];
