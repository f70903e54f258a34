-- Takes away everything of a response. Whoever still runs it finds no record and writes nothing more.
--
-- KEYS[1] record   KEYS[2] log   KEYS[3] input   KEYS[4] open   KEYS[5] load   KEYS[6] stored responses of the tenant
-- ARGV[1] response id
-- ARGV[2] empty, or the lease of an api process: then only that process is taken off, unless it was the last one
--
-- Returns 1 when it is gone, 0 when somebody else is still attached.

local record = KEYS[1]
local f = redis.call('HMGET', record, 'status', 'watchers', 'tenant', 'bytes')
if ARGV[2] ~= '' then
  local others = {}
  for lease in string.gmatch(f[2] or '', '%S+') do
    if lease ~= ARGV[2] then others[#others + 1] = lease end
  end
  if #others > 0 then
    redis.call('HSET', record, 'watchers', table.concat(others, ' '))
    return 0
  end
end
if f[1] == 'queued' then leave_queue(KEYS[5], f[3], f[4]) end
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('UNLINK', record, KEYS[2], KEYS[3])
return 1
