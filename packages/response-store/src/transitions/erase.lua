-- Removes everything of a response. A worker that still runs it finds no record and writes nothing more.
--
-- KEYS  record, log, large, long_end, open, load, stored (the list of its tenant)
-- ARGV  id
--       reader   empty, or the lease of an api process: then only that process is taken off while others are attached
--       with_key  1 when its Idempotency-Key goes, too; empty when that goes on standing for a response that is gone
--
-- Returns 1 when it is gone, 0 when somebody else is still attached; or a list of 1 and then id, queue and priority of each
-- response that may go into its queue now.

local f = read(record, 'status watchers tenant queue weight turn tokens accepted_at started_at held long_events idempotency')
if reader ~= '' then
  local others = without_watcher(f.watchers, reader)
  if others ~= '' then
    write(record, { watchers = others })
    return 0
  end
end
-- Before what is counted: a store without memory takes no other writes until it has some again.
local held_by_key = with_key == '1' and f.idempotency and redis.call('HMGET', f.idempotency, 'id', 'held')
redis.call('UNLINK', record, log, large, long_end)
for name in string.gmatch(f.long_events or '', '%S+') do redis.call('UNLINK', log .. ':' .. name) end
redis.call('ZREM', open, id)
redis.call('ZREM', stored, id)
local is_ended_here = f.status and is_open(f.status)
-- It may have taken some tokens, which nobody will count: what was reserved for it stays.
if is_ended_here then finish(load, id, f, nil) end
if f.held then replace_held(load, f.tenant, now_ms(), parts_of(f.held), {}) end
if held_by_key and held_by_key[1] == id then
  redis.call('DEL', f.idempotency)
  replace_held(load, f.tenant, now_ms(), parts_of(held_by_key[2]), {})
end
return is_ended_here and f.turn and let_in(1, record, id, load, f.tenant) or 1
