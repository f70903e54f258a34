-- The rescuer's look at responses without an end.
--
-- KEYS[1] open   KEYS[2] load   KEYS[3…] records
-- ARGV[1…] the id of each record
--
-- Returns { server time in ms, then for each: kind, queue }:
--   gone       no record, or it has ended: taken out of the open set here
--   cancelled  queued, and somebody asked for the end or nobody waits
--   expired    queued for longer than it may be
--   unqueued   in the background, and its job was never added as far as anybody knows
--   overdue    in progress, and it should have ended: somebody asked for it, or its time ran out
--   queued | in_progress   look whether its job is still there

local now = now_ms()
local reply = { tostring(now) }
for at = 3, #KEYS do
  local record = KEYS[at]
  local f = redis.call('HMGET', record, 'status', 'cancel', 'background', 'watchers', 'left_at', 'grace_ms', 'queue_by',
    'enqueued', 'queue', 'run_by')
  local kind = f[1]
  if kind ~= 'queued' and kind ~= 'in_progress' then
    kind = 'gone'
    redis.call('ZREM', KEYS[1], ARGV[at - 2])
  elseif kind == 'queued' then
    if f[2] or is_abandoned(record, now, f[3], f[4], f[5], f[6]) then
      kind = 'cancelled'
    elseif now > tonumber(f[7]) then
      kind = 'expired'
    elseif not f[8] and f[3] == '1' then
      kind = 'unqueued'
    end
  elseif f[2] or (f[10] and now > tonumber(f[10])) then
    kind = 'overdue'
  end
  reply[#reply + 1] = kind
  reply[#reply + 1] = f[9] or ''
end
-- Records that expired while they waited were never taken out of the counts.
if redis.call('ZCARD', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
return reply
