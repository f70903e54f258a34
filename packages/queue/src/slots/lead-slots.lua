-- Takes or renews the right to divide the limits of queues over the cells. Each holder has an epoch of its own, and so has one that
-- has met a later epoch in a cell.
--
-- KEYS  leader, epoch
-- ARGV  process, lease in milliseconds, the highest epoch that the process has met in a cell
--
-- Returns the epoch of the process, or 0 while another one has the right.

local leader, epoch_key = unpack(KEYS)
local process, lease_ms, met = ARGV[1], ARGV[2], tonumber(ARGV[3])
local holder = redis.call('GET', leader)
if holder and holder ~= process then return 0 end
redis.call('SET', leader, process, 'PX', lease_ms)
local epoch = tonumber(redis.call('GET', epoch_key) or '0')
if holder == process and met <= epoch then return epoch end
epoch = math.max(epoch, met) + 1
redis.call('SET', epoch_key, epoch)
return epoch
