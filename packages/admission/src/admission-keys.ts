/** Keys of what admission counts, in the cell whose prefix is given. */
export interface AdmissionKeys {
  /** Hash: weights of waiting responses, in all (`all`) and by tenant (`tenant:<name>`); see `weightOf`. */
  readonly load: string;
  /** Hash: sixty one-second buckets of a tenant's accepted requests, their sum, and the second of the last one. */
  requestRate(tenant: string): string;
}

export function admissionKeys(prefix: string): AdmissionKeys {
  return {
    load: `${prefix}load`,
    requestRate: (tenant) => `${prefix}rate:requests:${tenant}`,
  };
}
