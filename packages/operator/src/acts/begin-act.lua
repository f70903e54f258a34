-- Begins an act on many responses, if no other one is under way.
--
-- KEYS[1]  string: the lease of the act that is under way, its id
-- KEYS[2]  list: ids of acts, newest first
-- KEYS[3]  hash: the act; `report` is how far it is, `stop` is there once somebody asked to stop it
-- ARGV[1]  its id
-- ARGV[2]  the report
-- ARGV[3]  the lease, in milliseconds
-- ARGV[4]  how long a report is kept, in milliseconds
-- ARGV[5]  how many acts are kept
--
-- Returns the id of the act that is under way, which is its own once it has begun, also when an earlier call has begun it.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
redis.call('HSET', KEYS[3], 'report', ARGV[2])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('LREM', KEYS[2], 0, ARGV[1])
redis.call('LPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], 0, ARGV[5] - 1)
return ARGV[1]
