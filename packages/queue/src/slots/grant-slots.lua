-- Notes how much of the limit of a queue each cell is granted. A cell is granted more before it may run more, and less after it runs
-- less, so that the cells together never run more than the limit, whoever dies in between.
--
-- KEYS  leader, grants (hash: cell -> jobs)
-- ARGV  process, limit of the queue, then each cell and its jobs
--
-- Returns 1, or 0 when the process has lost the right to divide, or the grants would be more than the limit.

local leader, grants = unpack(KEYS)
if redis.call('GET', leader) ~= ARGV[1] then return 0 end

local granted, rises = {}, false
local before = redis.call('HGETALL', grants)
for at = 1, #before, 2 do granted[before[at]] = tonumber(before[at + 1]) end
for at = 3, #ARGV, 2 do
  local jobs = tonumber(ARGV[at + 1])
  if jobs > (granted[ARGV[at]] or 0) then rises = true end
  granted[ARGV[at]] = jobs
end
local sum = 0
for _, jobs in pairs(granted) do sum = sum + jobs end
if rises and sum > tonumber(ARGV[2]) then return 0 end
for at = 3, #ARGV, 2 do redis.call('HSET', grants, ARGV[at], ARGV[at + 1]) end
return 1
