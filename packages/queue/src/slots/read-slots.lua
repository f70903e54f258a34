-- Reads how many jobs of a queue run, may run and wait in a cell, and the first of them. Changes nothing.
--
-- KEYS  meta, active, wait, prioritized
-- ARGV  how many jobs of each list are told at most; 0 for their numbers alone
--
-- Returns the limit, which is empty without one; the number of active jobs, of those that wait without a priority, which come first, and of
-- those with one; the ids of active jobs; and the scores of those with a priority, in order.

local meta, active, wait, prioritized = unpack(KEYS)
local most = tonumber(ARGV[1])
local limit = redis.call('HGET', meta, 'concurrency')
local ids, scores = {}, {}
if most > 0 then
  ids = redis.call('LRANGE', active, 0, most - 1)
  local front = redis.call('ZRANGE', prioritized, 0, most - 1, 'WITHSCORES')
  for at = 2, #front, 2 do scores[#scores + 1] = front[at] end
end
return {
  limit or '', redis.call('LLEN', active), redis.call('LLEN', wait), redis.call('ZCARD', prioritized), ids, scores
}
