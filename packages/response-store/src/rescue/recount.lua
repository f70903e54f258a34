-- Counts the waiting responses anew, after a record has vanished without an end: an operator deleted it, or the store
-- evicted it.
--
-- KEYS  open, load
-- ARGV  record_prefix (what stands before the id in the key of a record), most
-- Returns 1, or 0 when there are more open responses than `most`: counting them would hold up everybody.

local ids = redis.call('ZRANGE', open, 0, most)
if #ids > most then return 0 end
local counters, all = {}, 0
for _, id in ipairs(ids) do
  local f = read(record_prefix .. id, 'status tenant weight')
  -- One of another release says its weight in its own way.
  if f.status == QUEUED and f.weight then
    all = all + f.weight
    counters[f.tenant] = (counters[f.tenant] or 0) + f.weight
  end
end
redis.call('DEL', load)
if all > 0 then redis.call('HSET', load, 'all', all) end
for tenant, weight in pairs(counters) do
  redis.call('HSET', load, 'tenant:' .. tenant, weight)
end
return 1
