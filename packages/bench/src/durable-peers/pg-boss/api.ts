/** The api in front of pg-boss: a job for each request, and a trigger that tells of its answer when the job is completed. */
import { readPeerPlace } from '../peer-place.ts';
import { answered, connectPostgres, serveCallers } from '../waiting-callers.ts';
import { queueName, startBoss } from './boss.ts';

const place = readPeerPlace(process.env);
const boss = await startBoss(place);
await boss.createQueue(queueName, { notify: true });

const client = await connectPostgres(place);
await client.query(`
  create function tell_answer() returns trigger language plpgsql as $$
  begin
    perform pg_notify('${answered}', new.id || ' ' || coalesce(new.output->>'output_text', ''));
    return null;
  end $$`);
await client.query(`
  create trigger tell_answer after update of state on pgboss.job
  for each row when (new.state = 'completed') execute function tell_answer()`);
await client.end();

await serveCallers(
  place,
  (id, prompt) => boss.send(queueName, { prompt }, { id }),
  () => boss.stop(),
);
