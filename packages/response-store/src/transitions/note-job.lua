-- Notes that a response has its job in the queue, and looks where that stands.
--
-- KEYS  record, jobs (sorted set of the waiting jobs, or the record again)
-- ARGV  id
-- Returns how many jobs are before it, or -1 when it does not wait there, or there is no such record: writing the field
-- alone would bring back a deleted one.

if redis.call('EXISTS', record) == 0 then return -1 end
write(record, { enqueued = '1' })
return jobs ~= record and redis.call('ZRANK', jobs, id) or -1
