-- Reads how many jobs a queue of BullMQ has, and which has waited longest. Changes nothing.
--
-- KEYS  wait, prioritized, delayed, active, meta
-- ARGV  prefix of the keys of jobs; how many jobs at the front of each list are considered
--
-- Returns the number of jobs that wait, the number of active jobs, and 1 if the queue is paused. The id of the oldest job that
-- was considered follows, and when it was added, in milliseconds; both are empty when none waits. The same two follow for the
-- oldest job that a worker could take now, which neither waits for a time nor is deferred.
--
-- A queue is not sorted by age. The oldest job of each flow is at the front of its flow, though, and the fronts of the flows
-- are together at the front of the queue.

local wait, prioritized, delayed, active, meta = unpack(KEYS)
local prefix, count = ARGV[1], tonumber(ARGV[2])

local waiting = redis.call('LLEN', wait) + redis.call('ZCARD', prioritized) + redis.call('ZCARD', delayed)
local oldest_id, oldest_at = '', ''
local ready_id, ready_at = '', ''
local function look(ids)
  for _, id in ipairs(ids) do
    local at = tonumber(redis.call('HGET', prefix .. id, 'timestamp') or nil)
    if at and (oldest_at == '' or at < oldest_at) then oldest_id, oldest_at = id, at end
  end
end
if waiting > 0 then
  look(redis.call('LRANGE', wait, -count, -1))
  look(redis.call('ZRANGE', prioritized, 0, count - 1))
  ready_id, ready_at = oldest_id, oldest_at
  look(redis.call('ZRANGE', delayed, 0, count - 1))
end
local paused = redis.call('HEXISTS', meta, 'paused')
local function text(at) return at == '' and '' or string.format('%.0f', at) end
return { waiting, redis.call('LLEN', active), paused, oldest_id, text(oldest_at), ready_id, text(ready_at) }
