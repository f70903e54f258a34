-- The owner's poll: what became of the responses a worker process runs.
--
-- KEYS[1…] records   ARGV[1…] the token of each
--
-- Returns one word for each record:
--   ok          go on
--   superseded  another attempt holds the lease, or the record is gone or has ended
--   cancelled   somebody asked for the end, or nobody waits any more

local reply = {}
local now = now_ms()
for at, record in ipairs(KEYS) do
  local f = redis.call('HMGET', record, 'status', 'token', 'cancel', 'background', 'watchers', 'left_at', 'grace_ms')
  if f[1] ~= 'in_progress' or f[2] ~= ARGV[at] then
    reply[at] = 'superseded'
  elseif f[3] or is_abandoned(record, now, f[4], f[5], f[6], f[7]) then
    reply[at] = 'cancelled'
  else
    reply[at] = 'ok'
  end
end
return reply
