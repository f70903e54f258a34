-- Takes or renews the lease of the process that runs batches, or gives it up.
--
-- KEYS  lease
-- ARGV  process, how long it lasts from now on, ms; 0 gives it up
--
-- Returns 1 while the process has it.

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
