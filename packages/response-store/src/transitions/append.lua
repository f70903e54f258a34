-- Appends events to the log of a streamed response and publishes them.
--
-- KEYS  record, log
-- ARGV  id, token (of the writing attempt), first (sequence number of the first event), then the events as JSON, in order
--
-- Returns one word:
--   ok          written, or written before by this very attempt (a retry after a lost reply)
--   cancelled   the same, and somebody has asked for the end
--   superseded  another attempt holds the lease; nothing was written
--   terminal    the response had ended already; nothing was written
--   missing     no such record; nothing was written
--   gap         events before the first one are not in the log; nothing was written

local f = read(record, 'status token seq watchers cancel')
if not f.status then return 'missing' end
if not is_open(f.status) then return 'terminal' end
if f.token ~= token then return 'superseded' end
local last = first + #ARGV - more_args
if last > f.seq then
  if first ~= f.seq + 1 then return 'gap' end
  local lines = { id .. ' ' .. first .. ' ' .. (last - first + 1) .. ' -' }
  for at = more_args, #ARGV do
    redis.call('XADD', log, '1-' .. (first + at - more_args), 'e', ARGV[at])
    lines[#lines + 1] = ARGV[at]
  end
  write(record, { seq = last })
  tell_watchers(f.watchers, id, lines)
end
return f.cancel and 'cancelled' or 'ok'
