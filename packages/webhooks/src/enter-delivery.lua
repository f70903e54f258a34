-- Counts a delivery among those of its endpoint that have not ended, if there are not too many. One that is in the queue has been counted
-- before, maybe by another process at this moment, and may have ended: counted again, it would never leave.
--
-- KEYS  the deliveries of the endpoint that have not ended, the delivery in the queue
-- ARGV  id of the delivery, the most, how long the set stays, in milliseconds
--
-- Returns 'entered' when it is among them now and may have to be added to the queue, 'known' when it is in the queue, and 'full' when there are
-- too many.

local deliveries, queued, id, most = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', queued) == 1 then return 'known' end
if redis.call('SISMEMBER', deliveries, id) == 0 then
  if redis.call('SCARD', deliveries) >= most then return 'full' end
  redis.call('SADD', deliveries, id)
end
redis.call('PEXPIRE', deliveries, ARGV[3])
return 'entered'
