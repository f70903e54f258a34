import { firstOfEachPath } from './check-key.ts';
import { checkModels } from './cross-checks.ts';
import { type Explanation, explainIssue } from './explain-issue.ts';
import { modelSchema } from './model-schema.ts';
import { settingsTree } from './schema-node.ts';
import { completeModels, type ModelSettings, type ProviderSettings } from './settings.ts';

/**
 * Checks a model in the shape of `models[]` in the file: by its schema, and by the rules between it, the providers and the other models.
 *
 * @returns the model as the service works with it, or every problem with its path below `models[]`.
 */
export function checkModel(
  wanted: unknown,
  { others, providers }: { others: readonly ModelSettings[]; providers: readonly ProviderSettings[] },
): ModelSettings | { problems: Explanation[] } {
  const parsed = modelSchema.safeParse(wanted);
  if (parsed.error !== undefined) {
    const data = { models: [wanted] };
    const tree = settingsTree();
    const problems = parsed.error.issues
      .flatMap((issue) => explainIssue({ ...issue, path: ['models', 0, ...issue.path] }, data, tree))
      .map(({ path, message }) => ({ path: path.slice(2), message }));
    return { problems: firstOfEachPath(problems) };
  }
  const problems = checkModels({ providers: [...providers], models: [parsed.data] }).map(
    ({ path, message }) => ({
      path: path.slice(2),
      message,
    }),
  );
  const { id, queue = id, concurrency } = parsed.data;
  const shared = others.find((other) => other.queue === queue);
  if (shared && concurrency !== undefined && concurrency !== shared.concurrency) {
    const message = `differs from that of "${shared.id}", which is in the same queue; leave it out, or name another queue`;
    problems.push({ path: ['concurrency'], message });
  }
  const [model] = completeModels([parsed.data]);
  if (problems.length > 0 || !model) return { problems };
  return shared?.concurrency === undefined ? model : { ...model, concurrency: shared.concurrency };
}
