-- Limits how many jobs of a queue run at once in a cell, unless a later divider has limited it.
--
-- KEYS  meta, active, fence (the epoch of the divider that wrote last)
-- ARGV  epoch of the divider, limit (empty lifts it)
--
-- Returns the epoch of a later divider, or 0, and the number of active jobs, which may be more than the limit for a while.

local meta, active, fence = unpack(KEYS)
local epoch, limit = tonumber(ARGV[1]), ARGV[2]
local last = tonumber(redis.call('GET', fence) or '0')
if last > epoch then return { last, redis.call('LLEN', active) } end
redis.call('SET', fence, epoch)
if limit == '' then
  redis.call('HDEL', meta, 'concurrency')
else
  redis.call('HSET', meta, 'concurrency', limit)
end
return { 0, redis.call('LLEN', active) }
