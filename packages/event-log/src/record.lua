-- Fragment: what the scripts share about a record (a hash, see record.ts) and those who watch it.

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Publishes a message to every api process that has somebody attached.
local function tell_watchers(watchers, message)
  if not watchers or watchers == '' then return end
  for channel in string.gmatch(watchers, '%S+') do
    redis.call('PUBLISH', channel, message)
  end
end

-- Whether one of the watching processes still renews its lease.
local function is_watched(watchers)
  if not watchers or watchers == '' then return false end
  for lease in string.gmatch(watchers, '%S+') do
    if redis.call('EXISTS', lease) == 1 then return true end
  end
  return false
end

-- A lease also lapses while the store is away, and comes back a moment after it: a process whose lease is gone
-- gets this long, in ms, before it counts as dead. Workers look every second: with 3000 a fourth look was needed
-- at times, and with it all of the ten seconds within which the death of a process is to be seen.
local lapse_ms = 2500

-- Whether a response that is not in the background has been without a caller for longer than its grace.
-- Notes the moment it was first found alone, so that the grace runs from there.
local function is_abandoned(record, now, background, watchers, left_at, grace_ms)
  if background == '1' then return false end
  local since = tonumber(left_at or '')
  if is_watched(watchers) then
    if since then redis.call('HDEL', record, 'left_at') end
    return false
  end
  if not since then
    since = now
    redis.call('HSET', record, 'left_at', now)
  end
  local grace = tonumber(grace_ms or '0')
  if watchers and watchers ~= '' then grace = math.max(grace, lapse_ms) end
  return now - since >= grace
end

-- Takes a response out of the counts of those that wait.
local function leave_queue(load, tenant, bytes)
  local own = 'queued:' .. tenant
  local f = redis.call('HMGET', load, 'queued', 'bytes', own)
  local left = tonumber(f[3] or '0') - 1
  redis.call('HSET', load, 'queued', tonumber(f[1] or '0') - 1, 'bytes', tonumber(f[2] or '0') - tonumber(bytes or '0'), own, left)
  if left <= 0 then redis.call('HDEL', load, own) end
end

-- Notes that the end is wanted and rings the worker that runs the response, if one does.
local function ask_for_end(record, reason)
  redis.call('HSETNX', record, 'cancel', reason)
  local f = redis.call('HMGET', record, 'worker', 'id')
  if f[1] and f[1] ~= '' then redis.call('PUBLISH', f[1], f[2]) end
end
