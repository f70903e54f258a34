#!/usr/bin/env node
import { requireNode } from '@sluice/runtime/require-node';

requireNode(24);

// Everything else is loaded after the check: an old Node could not even parse it.
const { runCommand } = await import('./command.ts');
await runCommand(process.argv.slice(2));
