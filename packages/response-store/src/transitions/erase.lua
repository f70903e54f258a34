-- Takes away everything of a response. Whoever still runs it finds no record and writes nothing more.
--
-- KEYS  record, log, large, open, load, stored (the list of its tenant)
-- ARGV  id
--       reader   empty, or the lease of an api process: then only that process is taken off while others are attached
--
-- Returns 1 when it is gone, 0 when somebody else is still attached.

local f = read(record, 'status watchers tenant weight')
if reader ~= '' then
  local others = without_watcher(f.watchers, reader)
  if others ~= '' then
    write(record, { watchers = others })
    return 0
  end
end
if f.status and is_open(f.status) then finish(load, f.tenant, f.weight, f.status ~= QUEUED) end
redis.call('ZREM', open, id)
redis.call('ZREM', stored, id)
redis.call('UNLINK', record, log, large)
return 1
