#!/usr/bin/env node
import { requireNode } from '@sluice/runtime/require-node';

requireNode(24);

// The rest is loaded after the check, because an old Node cannot parse it.
const { runCommand } = await import('./command.ts');
await runCommand(process.argv.slice(2));
