/** The parameter of the address that names the act whose progress is shown. */
export const drainKeys = ['act'] as const;
