-- Adds an api process to those that have somebody attached to a response. Its caller, for all purposes.
--
-- KEYS[1] record
-- ARGV[1] lease of the api process
--
-- Returns the status, or nothing when there is no such record.

local f = redis.call('HMGET', KEYS[1], 'status', 'watchers')
if not f[1] then return false end
local watchers = f[2] or ''
if not string.find(' ' .. watchers .. ' ', ' ' .. ARGV[1] .. ' ', 1, true) then
  watchers = watchers == '' and ARGV[1] or (watchers .. ' ' .. ARGV[1])
end
redis.call('HSET', KEYS[1], 'watchers', watchers, 'followed', 1)
redis.call('HDEL', KEYS[1], 'left_at')
return f[1]
