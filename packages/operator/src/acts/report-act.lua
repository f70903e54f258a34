-- Says how far an act is, and renews its lease; gives the lease back when the act is over.
--
-- KEYS[1]  string: the lease of the act that is under way, its id
-- KEYS[2]  hash: the act
-- ARGV[1]  its id
-- ARGV[2]  the report
-- ARGV[3]  the lease, in milliseconds
-- ARGV[4]  how long a report is kept, in milliseconds
-- ARGV[5]  1 when the act is over
--
-- Returns `lost` when another act has begun since, and the report is not written; `stop` when somebody asked to stop it;
-- else `go_on`. A lease that lapsed while Redis was away, and that nobody else has taken, is taken again.
local holder = redis.call('GET', KEYS[1])
local over = ARGV[5] == '1'
if holder and holder ~= ARGV[1] and not over then return 'lost' end
redis.call('HSET', KEYS[2], 'report', ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
if not over then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
elseif holder == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
if redis.call('HEXISTS', KEYS[2], 'stop') == 1 then return 'stop' end
return 'go_on'
