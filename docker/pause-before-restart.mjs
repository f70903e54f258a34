// Keeps a service that cannot start for some seconds before it ends, because an engine that restarts containers may do so in
// milliseconds. What is wrong has been printed by then. A stop ends the pause. Commands, which nobody restarts, end at once.
const roles = ['api', 'worker', 'start'];
// Shorter than ten seconds: a container that ran longer counts as started, and Docker begins again with its shortest wait.
const untilMs = 8_000;

if (roles.includes(process.argv[2])) {
  process.once('beforeExit', (code) => {
    const leftMs = untilMs - process.uptime() * 1000;
    if (code === 0 || leftMs <= 0) return;
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit());
    setTimeout(() => process.exit(), leftMs);
  });
}
