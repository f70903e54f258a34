-- Reads how many jobs of a queue run, may run and wait in a cell, and the first of them. Changes nothing.
--
-- KEYS  meta, active, wait, prioritized
-- ARGV  how many jobs of each list are told at most
--
-- Returns the limit, which is empty without one; the number of active jobs, of those that wait without a priority, which come first, and of
-- those with one; the ids of active jobs; and the scores of those with a priority, in order.

local meta, active, wait, prioritized = unpack(KEYS)
local last = tonumber(ARGV[1]) - 1
local limit = redis.call('HGET', meta, 'concurrency')
local scores, front = {}, redis.call('ZRANGE', prioritized, 0, last, 'WITHSCORES')
for at = 2, #front, 2 do scores[#scores + 1] = front[at] end
return {
  limit or '', redis.call('LLEN', active), redis.call('LLEN', wait), redis.call('ZCARD', prioritized),
  redis.call('LRANGE', active, 0, last), scores
}
