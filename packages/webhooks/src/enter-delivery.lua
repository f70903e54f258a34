-- Counts a delivery among those of its endpoint that have not ended, if there are not too many.
--
-- KEYS  the deliveries of the endpoint that have not ended
-- ARGV  id of the delivery, the most, how long the set stays, in milliseconds
--
-- Returns 1 when it is among them now, whether or not it was before, and 0 when there are too many.

local deliveries, id, most = KEYS[1], ARGV[1], tonumber(ARGV[2])
if redis.call('SISMEMBER', deliveries, id) == 0 then
  if redis.call('SCARD', deliveries) >= most then return 0 end
  redis.call('SADD', deliveries, id)
end
redis.call('PEXPIRE', deliveries, ARGV[3])
return 1
