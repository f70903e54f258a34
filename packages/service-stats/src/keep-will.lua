-- Keeps the will of a process, which is shown if it falls silent, until it signs off or has been silent for a day.
--
-- KEYS[1]  sorted set: ids of processes, scored by the time of their last report, in milliseconds
-- KEYS[2]  hash: the will of each of them, as JSON
-- ARGV[1]  id of the process
-- ARGV[2]  its will
-- ARGV[3]  now, in milliseconds
-- ARGV[4]  how long a process is remembered, in milliseconds
-- ARGV[5]  most processes; those that reported longest ago make room
--
-- Returns how many wills were removed.

redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local forgotten = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[3] - ARGV[4], 'BYSCORE')
local over = redis.call('ZCARD', KEYS[1]) - #forgotten - ARGV[5]
if over > 0 then forgotten = redis.call('ZRANGE', KEYS[1], 0, #forgotten + over - 1) end
for _, id in ipairs(forgotten) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return #forgotten
