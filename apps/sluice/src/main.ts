#!/usr/bin/env node
import { requireNode } from '@sluice/runtime/require-node';
import { fileURLToPath } from 'node:url';

requireNode(24);

// The rest is loaded after the check, because an old Node cannot parse it.
const { enableCompileCache } = await import('node:module');
// What is compiled now need not be for the next start. Where nothing can be written, nothing is kept.
enableCompileCache(fileURLToPath(new URL('../dist/.compiled', import.meta.url)));
const { runCommand } = await import('./command.ts');
await runCommand(process.argv.slice(2));
