import type { BatchError } from '@sluice/contract';

/** The error of a batch whose input went before all of its lines had run. */
export const inputGone: BatchError = {
  code: 'not_found',
  message: 'The file was deleted, or has expired, while the batch ran.',
  line: null,
  param: 'input_file_id',
};

/** The error of a batch whose results were too large before all of its lines had run. */
export const resultsTooLarge = (bytes: number): BatchError => ({
  code: 'file_limit_reached',
  message: `The results have ${bytes} bytes or more before all lines have run. Please send the other lines in a batch of their own.`,
  line: null,
  param: null,
});
