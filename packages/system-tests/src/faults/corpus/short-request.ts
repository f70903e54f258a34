/** A good request that is answered at once. */
export const shortRequest = { model: 'simulator', input: 'Hi. [[sluice: tokens=1]]' };
