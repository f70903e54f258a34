import { Redis } from 'ioredis';
import { startStore } from '../../src/index.ts';

/*
 * A supervisor for store.test.ts: starts a store in the directory of its first argument with the PATH of its second,
 * writes a key, prints the process numbers and dies like one that is killed. With `kill-store-first` the store's
 * process dies before it, without a chance to end its server.
 */

const [dataDir = '', path = '', order] = process.argv.slice(2);
const store = await startStore({ dataDir, redisUrl: undefined, path });
const client = new Redis(store.url);
await client.set('written-before', 'yes');
process.stdout.write(JSON.stringify({ pid: store.pid, serverPid: store.serverPid }));
if (order === 'kill-store-first' && store.pid !== undefined) {
  process.kill(store.pid, 'SIGKILL');
}
process.kill(process.pid, 'SIGKILL');
