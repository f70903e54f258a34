-- Takes ends out of the outbox for a reader: notes those that it has told, and returns the next ones. One process reads for it.
--
-- KEYS  outbox, lease, given; then what each of the readers was given
-- ARGV  reader     its name, which is that of its consumer group
--       readers    of all that are to be told, joined by spaces, in the order of their keys
--       process    that reads
--       lease_ms   how long it is the only one
--       count      most ends that are returned
--       forget_ms  how long ago a reader that is not to be told any more must have read for the last time to be forgotten
--       then the ids of the entries that it was given before and has told
--
-- Returns { 0 } while another process reads; else { 1, how many ends were lost before it had them, the entries as XREADGROUP returns
-- them }. An entry that was returned and not noted comes again.

local holder = redis.call('GET', lease)
if holder and holder ~= process then return { 0 } end
-- Nothing is written while nothing happens, but for this now and then.
if not holder or redis.call('PTTL', lease) < lease_ms / 2 then redis.call('SET', lease, process, 'PX', lease_ms) end

local function named(pairs)
  local found = {}
  for at = 1, #pairs, 2 do found[pairs[at]] = pairs[at + 1] end
  return found
end

local function groups()
  local all = {}
  for _, pairs in ipairs(redis.call('XINFO', 'GROUPS', outbox)) do all[#all + 1] = named(pairs) end
  return all
end

-- Entries that were ever written, and those that are there.
local function counts()
  local stream = named(redis.call('XINFO', 'STREAM', outbox))
  return stream['entries-added'], stream['length']
end

if redis.call('EXISTS', outbox) == 0 then return { 1, 0, {} } end
-- The outbox is new, a reader is, or the store was emptied. Those that have not come yet count, too: nothing may go before they have it.
local has_group = {}
for _, group in ipairs(groups()) do has_group[group['name']] = true end
local is_reader = {}
for name in string.gmatch(readers, '%S+') do is_reader[name] = true end

-- Whether a reader was switched off for good: a process that still has it reads for it all the time.
local function is_forgotten(name)
  if is_reader[name] then return false end
  for _, pairs in ipairs(redis.call('XINFO', 'CONSUMERS', outbox, name)) do
    if named(pairs)['idle'] < forget_ms then return false end
  end
  return true
end
for name in pairs(has_group) do
  if is_forgotten(name) then redis.call('XGROUP', 'DESTROY', outbox, name) end
end
local at = 0
for name in string.gmatch(readers, '%S+') do
  at = at + 1
  if not has_group[name] then
    redis.call('XGROUP', 'CREATE', outbox, name, '0')
    redis.call('XGROUP', 'CREATECONSUMER', outbox, name, 'reader')
    local added, length = counts()
    redis.call('HSET', KEYS[more_keys + at - 1], 'of', added - length, 'count', 0)
  end
end

-- What every reader has told goes.
local function trim()
  local least
  for _, group in ipairs(groups()) do
    local has_pending = group['pending'] > 0
    local from = has_pending and redis.call('XPENDING', outbox, group['name'])[2] or group['last-delivered-id']
    local ms, number = string.match(from, '(%d+)-(%d+)')
    ms, number = tonumber(ms), tonumber(number) + (has_pending and 0 or 1)
    if not least or ms < least[1] or (ms == least[1] and number < least[2]) then least = { ms, number } end
  end
  redis.call('XTRIM', outbox, 'MINID', string.format('%.0f-%.0f', least[1], least[2]))
end

if #ARGV >= more_args then
  redis.call('XACK', outbox, reader, unpack(ARGV, more_args))
  trim()
end

local function entries_from(id)
  local reply = redis.call('XREADGROUP', 'GROUP', reader, 'reader', 'COUNT', count, 'STREAMS', outbox, id)
  return reply and reply[1] and reply[1][2] or {}
end

local entries = entries_from('0')
if #entries > 0 then return { 1, 0, entries } end
entries = entries_from('>')
local known = redis.call('HMGET', given, 'of', 'count')
local so_far = tonumber(known[2] or 0) + #entries
if #entries >= count then
  redis.call('HSET', given, 'count', so_far)
  return { 1, 0, entries }
end
-- It has all that is there, so what was written and not given to it is lost.
local added = counts()
if tonumber(known[1]) == added then return { 1, 0, entries } end
local lost = known[1] and added - known[1] - so_far or 0
redis.call('HSET', given, 'of', added, 'count', 0)
return { 1, math.max(0, lost), entries }
