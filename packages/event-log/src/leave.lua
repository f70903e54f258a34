-- A caller left: takes its api process off a response and, when nobody waits any more, asks for its end.
--
-- KEYS[1] record
-- ARGV[1] lease of the api process   ARGV[2] longer grace than the response's own, ms, or 0
-- ARGV[3] reason given with the request
--
-- Returns { kind, status }:
--   missing    no such record
--   terminal   already ended
--   detached   others still wait, or the grace runs, or it goes on in the background
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local record = KEYS[1]
local f = redis.call('HMGET', record, 'status', 'watchers', 'background', 'left_at', 'grace_ms')
local status = f[1]
if not status then return { 'missing', '' } end
local others = {}
for lease in string.gmatch(f[2] or '', '%S+') do
  if lease ~= ARGV[1] then others[#others + 1] = lease end
end
local watchers = table.concat(others, ' ')
local grace = math.max(tonumber(f[5] or '0'), tonumber(ARGV[2]))
redis.call('HSET', record, 'watchers', watchers, 'grace_ms', grace)
if status ~= 'queued' and status ~= 'in_progress' then return { 'terminal', status } end
if not is_abandoned(record, now_ms(), f[3], watchers, f[4], grace) then return { 'detached', status } end
ask_for_end(record, ARGV[3])
return { 'asked', status }
