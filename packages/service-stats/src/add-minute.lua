-- Adds what a process has counted to the sums of a minute, once however often it is sent.
--
-- KEYS[1]   hash of the minute: sums by field; how many fields there are of a kind, as `n:<kind>`; and of each process the number
--           of its last addition, as `p:<process>`
-- ARGV[1]   process
-- ARGV[2]   number of this addition, higher than that of any earlier one of the process
-- ARGV[3]   how long the hash stays from now on, in milliseconds
-- ARGV[4]   most fields of each kind: of models, of tenants, and of codes
-- ARGV[5..] field and sums in turn; sums are names and counts in turn, with spaces between
--
-- A field is `<kind><name>`. What has no room goes to `r:<kind>`, the rest of its kind.
-- Returns 1, or 0 when the addition was there already.

local minute = KEYS[1]
local most = tonumber(ARGV[4])
local bounded = { ['m:'] = true, ['t:'] = true, ['e:'] = true }

local done = redis.call('HGET', minute, 'p:' .. ARGV[1])
if done and tonumber(done) >= tonumber(ARGV[2]) then return 0 end

local function join(known, added)
  local names, counts = {}, {}
  for _, text in ipairs({ known, added }) do
    for name, count in string.gmatch(text, '(%S+) (%d+)') do
      if not counts[name] then
        names[#names + 1] = name
        counts[name] = 0
      end
      counts[name] = counts[name] + tonumber(count)
    end
  end
  for at, name in ipairs(names) do names[at] = name .. ' ' .. string.format('%.0f', counts[name]) end
  return table.concat(names, ' ')
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
