-- A caller left: takes its api process off a response and, when nobody waits any more, asks for its end.
--
-- KEYS[1] record
-- ARGV[1] lease of the api process   ARGV[2] '1' to ask for the end at once, whoever else is attached
-- ARGV[3] reason given with the request
--
-- Returns { kind, status }:
--   missing    no such record
--   terminal   already ended
--   detached   others still wait, or the grace runs, or it goes on in the background
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local record = KEYS[1]
local f = redis.call('HMGET', record, 'status', 'watchers', 'background', 'left_at', 'grace_ms', 'worker', 'id', 'cancel')
local status = f[1]
if not status then return { 'missing', '' } end
local others = {}
for lease in string.gmatch(f[2] or '', '%S+') do
  if lease ~= ARGV[1] then others[#others + 1] = lease end
end
local watchers = table.concat(others, ' ')
redis.call('HSET', record, 'watchers', watchers)
if status ~= 'queued' and status ~= 'in_progress' then return { 'terminal', status } end
if ARGV[2] ~= '1' and not is_abandoned(record, now_ms(), f[3], watchers, f[4], f[5]) then
  return { 'detached', status }
end
if not f[8] then redis.call('HSET', record, 'cancel', ARGV[3]) end
if f[6] and f[6] ~= '' then redis.call('PUBLISH', f[6], f[7]) end
return { 'asked', status }
