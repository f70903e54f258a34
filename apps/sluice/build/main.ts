// Bundles the command into `dist`, if the bundle there is older than its sources.
import { join } from 'node:path';
import { buildCommand } from './build-command.ts';
import { isFresh } from './freshness.mjs';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'apps/sluice/dist');
if (!isFresh(root, folder)) await buildCommand(root, folder);
