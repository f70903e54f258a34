-- The owner's poll: what became of the responses that a worker process runs.
--
-- KEYS  records   ARGV  the token of each
--
-- Returns one word for each record:
--   ok          go on
--   superseded  another attempt holds the lease, or the record is gone or has ended
--   cancelled   somebody asked for the end, or nobody waits any more

local reply = {}
local now = now_ms()
for at, record in ipairs(KEYS) do
  local f = read(record, 'status token cancel background watchers left_at grace_ms')
  if f.status ~= IN_PROGRESS or f.token ~= ARGV[at] then
    reply[at] = 'superseded'
  elseif f.cancel or note_absence(record, f, now) then
    reply[at] = 'cancelled'
  else
    reply[at] = 'ok'
  end
end
return reply
