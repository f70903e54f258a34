-- Fragment: how many bytes of a tenant are in the store. `held:<tenant>` is a hash with an amount for each second by which
-- something goes:
--   <second>    bytes that are gone by then
--   u<second>   the same of open responses that are not stored. They go soon after their end, whenever that is.
--   sum         all of it: right until `next`
--   next, last  the first and the last of these seconds
--
-- An amount whose time is over leaves the sum with the next look at it. So nothing has to be swept, and the bytes of a record
-- that was deleted behind our back do not count for ever. The parts that a record or a key counts for stand beside it as
-- `<field> <bytes>`, so that exactly these are moved or taken away.

-- The bytes of a response beside its content: its keys, the short fields of its record, its place in a list.
local per_record = 2048

-- The same of an Idempotency-Key, all of it; and of an event in a log, beside its JSON.
local per_key, per_event = 512, 24

-- An open response that is not stored goes this soon after its end, in ms.
local unstored_ms = 60000

-- The allocator rounds a value up to a quarter of the power of two below it, which counts from this many bytes on.
local room_from = 262144

local function held_key(load, tenant) return string.sub(load, 1, -5) .. 'held:' .. tenant end

-- The bytes in the weight of a waiting response; see waiting.ts.
local function bytes_of(weight) return weight % 4294967296 * 1024 end

-- The spare room that the store gives a large value beside its bytes.
local function room_of(bytes)
  if bytes <= room_from then return 0 end
  local step = 65536
  while step * 8 <= bytes do step = step * 2 end
  return (step - bytes % step) % step
end

-- Returns a second by which something that stays for so long from now is gone. It is later by at most a sixteenth of that
-- time, so a tenant has at most thirty-two amounts for each time that things stay.
local function gone_by(now, stays_ms)
  local width = 1
  while width * 32000 < stays_ms do width = width * 2 end
  return string.format('%.0f', math.ceil((now + stays_ms) / 1000 / width) * width)
end

local function parts_of(text)
  local parts = {}
  for field, bytes in string.gmatch(text or '', '(%S+) (%S+)') do parts[#parts + 1] = { field, tonumber(bytes) } end
  return parts
end

local function print_parts(parts)
  local words = {}
  for _, part in ipairs(parts) do words[#words + 1] = part[1] .. ' ' .. string.format('%.0f', part[2]) end
  return table.concat(words, ' ')
end

-- The amounts as { second, bytes, whether they are of open responses that are not stored }, in no order.
local function read_amounts(key)
  local amounts, reply = {}, redis.call('HGETALL', key)
  for at = 1, #reply, 2 do
    local mark, second = string.match(reply[at], '^(u?)(%d+)$')
    if second then amounts[#amounts + 1] = { tonumber(second), tonumber(reply[at + 1]), mark == 'u' } end
  end
  return amounts
end

-- Takes out what is over, and sums up what is left.
local function drop_gone(key, now)
  local gone, sum, first = {}, 0, nil
  for _, amount in ipairs(read_amounts(key)) do
    if amount[1] * 1000 <= now then
      gone[#gone + 1] = (amount[3] and 'u' or '') .. string.format('%.0f', amount[1])
    else
      sum = sum + amount[2]
      first = math.min(first or amount[1], amount[1])
    end
  end
  if not first then return redis.call('DEL', key) end
  if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
  redis.call('HSET', key, 'sum', string.format('%.0f', sum), 'next', string.format('%.0f', first))
end

-- Reads what a tenant holds now, with the amounts of all fields that are to change, which `parts` and `more` name.
local function look_at_held(load, tenant, now, parts, more)
  local key, names = held_key(load, tenant), { 'sum', 'next', 'last' }
  for _, part in ipairs(parts) do names[#names + 1] = part[1] end
  for _, part in ipairs(more) do names[#names + 1] = part[1] end
  local f = redis.call('HMGET', key, unpack(names))
  if f[2] and now >= f[2] * 1000 then
    drop_gone(key, now)
    f = redis.call('HMGET', key, unpack(names))
  end
  local amounts = {}
  for at = 4, #names do amounts[names[at]] = tonumber(f[at]) end
  return { key = key, sum = tonumber(f[1]) or 0, next = tonumber(f[2]), last = tonumber(f[3]) or 0, amounts = amounts }
end

-- Takes parts away, as far as they are counted, and adds others. `look_at_held` has looked at all of them.
local function change_held(held, gone, new)
  local amounts, sum, first, last = held.amounts, held.sum, held.next, held.last
  for _, part in ipairs(gone) do
    local counted = amounts[part[1]]
    if counted then
      local less = math.min(counted, part[2])
      amounts[part[1]] = counted - less
      sum = sum - less
    end
  end
  for _, part in ipairs(new) do
    local second = tonumber(string.match(part[1], '%d+'))
    amounts[part[1]] = (amounts[part[1]] or 0) + part[2]
    sum = sum + part[2]
    first, last = math.min(first or second, second), math.max(last, second)
  end
  if not first then return end
  local values = { 'sum', string.format('%.0f', math.max(0, sum)) }
  local function put(field, number)
    values[#values + 1] = field
    values[#values + 1] = string.format('%.0f', number)
  end
  for field, amount in pairs(amounts) do put(field, amount) end
  if first ~= held.next then put('next', first) end
  if last ~= held.last then put('last', last) end
  redis.call('HSET', held.key, unpack(values))
  if last > held.last then redis.call('EXPIREAT', held.key, last + 1) end
end

-- Puts parts in the place of others.
local function replace_held(load, tenant, now, gone, new)
  if #gone + #new > 0 then change_held(look_at_held(load, tenant, now, gone, new), gone, new) end
end

-- Milliseconds until there is room for so many bytes more, if nothing more comes. What goes soon after its end may do so
-- from then on.
local function until_held_room(held, now, bytes)
  local amounts, left, unstored = read_amounts(held.key), 0, 0
  table.sort(amounts, function(a, b) return a[1] < b[1] end)
  local wait
  for _, amount in ipairs(amounts) do
    left = left + amount[2]
    if amount[3] then unstored = unstored + amount[2] end
    if not wait and left >= bytes then wait = amount[1] * 1000 - now end
  end
  wait = math.max(1, wait or unstored_ms)
  return unstored >= bytes and math.min(wait, unstored_ms) or wait
end
