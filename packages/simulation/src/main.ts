import './world/replace-builtins.ts';
import { makeScenario } from './story/make-scenario.ts';
import { runScenario } from './story/run-scenario.ts';
const [first = '0', count = '10', log] = process.argv.slice(2);
for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
  const t = performance.now();
  const r = await runScenario(makeScenario(seed), log ? (l) => console.log(l) : undefined);
  console.log(seed, r.digest, r.steps, Math.round(r.simulatedMs), 'ms', r.responses, Math.round(performance.now() - t), 'real ms', r.problems.length ? 'PROBLEMS' : '');
  for (const p of r.problems.slice(0,4)) console.log('   ', p.slice(0, 1500));
}
process.exit(0);
