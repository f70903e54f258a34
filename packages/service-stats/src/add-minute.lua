-- Adds the counts of a process to the sums of a minute. An addition counts once, however often it is sent.
--
-- KEYS[1]   hash of the minute: sums by field; the number of fields of each kind, as `n:<kind>`; and the number of each adder's
--           last addition, as `p:<adder>`
-- ARGV[1]   adder: a process, and one of the parts in which it adds
-- ARGV[2]   number of this addition, higher than that of any earlier one of this adder
-- ARGV[3]   how long the hash stays from now on, in milliseconds
-- ARGV[4]   most fields of each kind: of models, of tenants, and of codes
-- ARGV[5..] field and sums in turn; sums are counts by name, as JSON
--
-- A field is `<kind><name>`. Names without room are added to `r:<kind>`, the rest of their kind.
-- Returns 1, or 0 when the addition was there already.

local minute = KEYS[1]
local most = tonumber(ARGV[4])
local bounded = { ['m:'] = true, ['t:'] = true, ['e:'] = true }

local done = redis.call('HGET', minute, 'p:' .. ARGV[1])
if done and tonumber(done) >= tonumber(ARGV[2]) then return 0 end

local function join(known, added)
  local sums = cjson.decode(known)
  for name, count in pairs(cjson.decode(added)) do sums[name] = (sums[name] or 0) + count end
  return cjson.encode(sums)
end

local used = {}
local function has_room(kind)
  used[kind] = used[kind] or tonumber(redis.call('HGET', minute, 'n:' .. kind) or 0)
  if used[kind] >= most then return false end
  used[kind] = redis.call('HINCRBY', minute, 'n:' .. kind, 1)
  return true
end

for at = 5, #ARGV, 2 do
  local field, added = ARGV[at], ARGV[at + 1]
  local kind = string.sub(field, 1, 2)
  local known = redis.call('HGET', minute, field)
  if not known and bounded[kind] and not has_room(kind) then
    field = 'r:' .. kind
    known = redis.call('HGET', minute, field)
  end
  redis.call('HSET', minute, field, known and join(known, added) or added)
end
redis.call('HSET', minute, 'p:' .. ARGV[1], ARGV[2])
redis.call('PEXPIRE', minute, ARGV[3])
return 1
