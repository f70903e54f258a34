import { resolve } from 'node:path';
import { callerFlags, callerFlagsUsage, callerOf } from '../caller-flags.ts';
import type { Surroundings } from '../service-sources.ts';
import { badUsage, parseFlags } from '../command-flags.ts';
import { openBatchProgress } from './batch-progress.ts';
import { runBatch } from './run-batch.ts';

export const batchUsage = `Usage: sluice batch run FILE [flags]

Runs the lines of FILE as a batch, waits for its end, and writes the answers beside FILE: x.jsonl gives x.answers.jsonl, and x.errors.jsonl
for the lines that have failed. A line is {"custom_id", "method": "POST", "url", "body"}.

The batch runs in the service. When this command ends before it, by Ctrl-C or otherwise, the same command finds the batch of the same
content and goes on.

  --again      runs the lines although there is a batch of the same content
  --json       prints the batch at its end as one line of JSON
  --url URL    the service [SLUICE_URL, PORT on this machine, the service that runs on it]
  --key KEY    an API key [SLUICE_API_KEY, the development key of a service on this machine]

${callerFlagsUsage}`;

/** `sluice batch run`: a batch from a terminal, over the same API as any client. */
export async function runBatchCommand(argv: readonly string[], surroundings: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('batch', argv, {
    again: { type: 'boolean' },
    json: { type: 'boolean' },
    ...callerFlags,
  });
  const [command, file, more] = positionals;
  if (values.help || command === undefined) return console.log(batchUsage);
  if (command !== 'run') throw badUsage('batch', `there is no command '${command}'`);
  if (file === undefined) throw badUsage('batch', "'run' needs a file");
  if (more !== undefined) throw badUsage('batch', "'run' takes one file");
  const client = await callerOf('batch', values, { ...surroundings, path: '/v1' });
  const progress = openBatchProgress(process.stderr);
  try {
    await runBatch(client, {
      file: resolve(surroundings.cwd, file),
      isAgain: values.again ?? false,
      isJson: values.json ?? false,
      progress,
    });
  } finally {
    progress.close();
  }
}
