export { admissionKeys, type AdmissionKeys } from './admission-keys.ts';
export { isRefusal, parseRate, type AdmissionLimits, type Refusal, type RequestRate } from './limits.ts';
export { boundInUnits, parseWeight, weightOf, type Waiting } from './waiting.ts';

/** The Lua of admission: `enter`, `start` and `finish`, for the scripts of the response store. */
export const admissionFragments: readonly URL[] = [
  new URL('../src/request-rate.lua', import.meta.url),
  new URL('../src/admission.lua', import.meta.url),
];
