-- Reads how many jobs of a queue run, may run and wait in a cell. Changes nothing.
--
-- KEYS  meta, active, wait, prioritized
--
-- Returns the limit, which is empty without one, the number of active jobs, and that of jobs that a worker could take.

local meta, active, wait, prioritized = unpack(KEYS)
local limit = redis.call('HGET', meta, 'concurrency')
return {
  limit or '',
  redis.call('LLEN', active),
  redis.call('LLEN', wait) + redis.call('ZCARD', prioritized),
}
