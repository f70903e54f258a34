import { bundleCommand } from '@sluice/testing';

/** Makes what every process of a run is started from, once, before the first test. */
export const setup = bundleCommand;
