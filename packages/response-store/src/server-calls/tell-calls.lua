-- Tells the calls of a worker process that are under way, and answers with those of all others.
--
-- KEYS  server_calls
-- ARGV  process (its id), calls (JSON, for nobody to read here), lapse_ms (how long a process counts after it told)
-- Returns the calls of each other process that told its own within `lapse_ms`. Those of the rest are deleted.

local now = now_ms()
redis.call('HSET', server_calls, process, string.format('%.0f', now) .. ' ' .. calls)
redis.call('PEXPIRE', server_calls, lapse_ms)
local others = {}
local entries = redis.call('HGETALL', server_calls)
for at = 1, #entries, 2 do
  local told_at, told = string.match(entries[at + 1], '^(%d+) (.*)$')
  if not told_at or now - tonumber(told_at) > lapse_ms then
    redis.call('HDEL', server_calls, entries[at])
  elseif entries[at] ~= process then
    others[#others + 1] = told
  end
end
return others
