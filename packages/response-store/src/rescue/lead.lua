-- Takes the lease of the rescue, or renews it.
--
-- KEYS  rescuer
-- ARGV  process (its own name), lease_ms
-- Returns 1 when this process holds the lease, 0 when another one does.

local holder = redis.call('GET', rescuer)
if holder and holder ~= process then return 0 end
redis.call('SET', rescuer, process, 'PX', lease_ms)
return 1
