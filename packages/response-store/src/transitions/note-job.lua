-- Notes that a response has its job in the queue.
--
-- KEYS  record
-- Returns 1, or 0 when there is no such record: writing the field alone would bring back a deleted one.

if redis.call('EXISTS', record) == 0 then return 0 end
write(record, { enqueued = '1' })
return 1
