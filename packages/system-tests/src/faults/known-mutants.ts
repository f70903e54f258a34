/** Mechanisms that can be switched off in a copy of the sources, for tests that should notice. */
export { mutants } from './mutants.ts';
export { testedMechanisms } from './tested-mechanisms.ts';
export { copiedSources, type Patch, patched, workspace } from '@sluice/testing';
