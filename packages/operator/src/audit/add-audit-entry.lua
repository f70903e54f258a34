-- Adds an entry to the audit log, which keeps the last entries of each kind apart: however often one thing is done, the others stay.
--
-- KEYS[1]  stream: the entries of all kinds, oldest first
-- KEYS[2]  list: ids of the entries of this kind, oldest first
-- KEYS[3]  list: the same of the kind that the entry `asked` was filed under; the same key when that is this kind, too
-- ARGV[1]  the entry, as JSON
-- ARGV[2]  most entries of a kind
-- ARGV[3]  id of the entry `asked` that this one is the outcome of, which moves to this kind with it; empty for none
-- ARGV[4]  most entries of all kinds together, about, those of releases that did not keep kinds apart included
--
-- Returns the id of the entry.

if ARGV[3] ~= '' and KEYS[2] ~= KEYS[3] and redis.call('LREM', KEYS[3], -1, ARGV[3]) > 0 then
  redis.call('RPUSH', KEYS[2], ARGV[3])
end
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'e', ARGV[1])
redis.call('RPUSH', KEYS[2], id)
local over = redis.call('LLEN', KEYS[2]) - ARGV[2]
if over > 0 then
  for _, old in ipairs(redis.call('LPOP', KEYS[2], over)) do redis.call('XDEL', KEYS[1], old) end
end
return id
