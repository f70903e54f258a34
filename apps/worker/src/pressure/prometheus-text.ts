/** One value of a metric, with its labels. */
export interface Sample {
  labels: ReadonlyMap<string, string>;
  value: number;
}

/** Labels of a sample: names, and quoted values in which a backslash escapes the next character. */
const labelPattern = /([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"/g;

/**
 * The samples of one metric in Prometheus' text format, or in OpenMetrics'. Comments, other metrics and lines that make no
 * sense are passed over, and so are values that are no numbers.
 */
export function samplesOf(page: string, metric: string): Sample[] {
  const found: Sample[] = [];
  for (const line of page.split('\n')) {
    if (!line.startsWith(metric)) continue;
    const rest = line.slice(metric.length);
    const [, labels = '', value = ''] =
      /^\s*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?\s+(\S+)/.exec(rest) ?? [];
    const number = value === '' ? Number.NaN : Number(value);
    if (Number.isNaN(number)) continue;
    found.push({ labels: labelsIn(labels), value: number });
  }
  return found;
}

function labelsIn(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(labelPattern)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]),
  );
}

/** The label that says which model a sample is about, in the metrics of vLLM. */
const modelLabel = 'model_name';

/** The sum of a model's samples; of all, when none names the model. Undefined when there are none. */
export function valueOf(samples: readonly Sample[], model: string): number | undefined {
  if (samples.length === 0) return undefined;
  const own = samples.filter(({ labels }) => labels.get(modelLabel) === model);
  return (own.length > 0 ? own : samples).reduce((sum, { value }) => sum + value, 0);
}
