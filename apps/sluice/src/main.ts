#!/usr/bin/env node
import { requireNode } from '@sluice/runtime/require-node';
import { fileURLToPath } from 'node:url';

requireNode(24);

// The rest is loaded after the check, because an old Node cannot parse it.
const { enableCompileCache } = await import('node:module');
// Keeps the compiled code for the next start. A folder that cannot be written to keeps nothing.
const compiled = fileURLToPath(new URL('../dist/.compiled', import.meta.url));
enableCompileCache(compiled);
// Threads do not take it from the process.
process.env['NODE_COMPILE_CACHE'] ??= compiled;
const { runCommand } = await import('./command.ts');
await runCommand(process.argv.slice(2));
