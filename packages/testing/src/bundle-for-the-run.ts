import { bundleCommand } from './bundled-command.ts';

/** Makes what every process of a run is started from, once, before the first test. */
export const setup = bundleCommand;
