-- Notes that a response has its job in the queue.
-- KEYS[1] record
-- Returns 1, or 0 when there is no such record: writing the field alone would bring back a deleted one.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'enqueued', 1)
return 1
