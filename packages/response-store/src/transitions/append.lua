-- Appends events to the logs of streamed responses and publishes them: one message for each api process, whatever it reads.
--
-- KEYS  load, then record and log of each response
-- ARGV  of each response: id, token (of the writing attempt), first (sequence number of the first event), how many events, and
--       the events as JSON, in order; a long one as long-events.lua says
--
-- Returns a word for each response:
--   ok          written, or written before by this very attempt (a retry after a lost reply)
--   cancelled   the same, and somebody has asked for the end
--   superseded  another attempt holds the lease; nothing was written
--   terminal    the response had ended already; nothing was written
--   missing     no such record; nothing was written
--   gap         events before the first one are not in the log; nothing was written
--   lost        what was written of a long event is not there, or not all of it; nothing was written
--   error …     the store refused, and why; the others are written
-- An error of all of them is the script's own.

local channels, news = {}, {}

local function tell_later(watchers, id, lines, bytes_apart)
  local message = table.concat(lines, '\n')
  if not watchers then return end
  if #message + bytes_apart > most_bytes then return tell_watchers(watchers, id, lines, bytes_apart) end
  for channel in string.gmatch(watchers, '%S+') do
    local told = news[channel]
    if not told then
      told = { bytes = 0 }
      news[channel] = told
      channels[#channels + 1] = channel
    elseif told.bytes + #message > most_bytes then
      redis.call(PUBLISH, channel, table.concat(told, '\n'))
      told = { bytes = 0 }
      news[channel] = told
    end
    told[#told + 1] = message
    told.bytes = told.bytes + #message + 1
  end
end

-- The log of a response counts for its tenant in steps of so many bytes, so that other appends cost nothing. Its end counts
-- the rest.
local step = 262144

local function count_log(record, bytes)
  local f = read(record, 'tenant held')
  local parts = parts_of(f.held)
  -- The accept of an older release has counted nothing.
  if not parts[1] then return end
  local log_part = { parts[1][1], bytes }
  replace_held(load, f.tenant, now_ms(), { parts[2] }, { log_part })
  write(record, { held = print_parts({ parts[1], log_part }) })
end

local function append(record, log, id, token, first, from, count)
  local f = read(record, 'status token seq watchers cancel log_bytes')
  if not f.status then return 'missing' end
  if not is_open(f.status) then return 'terminal' end
  if f.token ~= token then return 'superseded' end
  local last = first + count - 1
  if last > f.seq then
    if first ~= f.seq + 1 then return 'gap' end
    local bytes_apart, long = look_at_long_events(log, first, from, from + count - 1)
    if not bytes_apart then return 'lost' end
    local lines = { id .. ' ' .. first .. ' ' .. count .. ' -' }
    local bytes_before = f.log_bytes or 0
    local bytes = bytes_before + bytes_apart
    for at = 0, count - 1 do
      redis.call('XADD', log, '1-' .. (first + at), 'e', ARGV[from + at])
      lines[at + 2] = ARGV[from + at]
      bytes = bytes + #ARGV[from + at]
    end
    write(record, { seq = last, log_bytes = bytes })
    if long[1] then
      local before = read(record, 'long_events').long_events
      local names = keep_long_events(log, long, open_event_ms)
      write(record, { long_events = before and before .. ' ' .. names or names })
    end
    if math.floor(bytes / step) > math.floor(bytes_before / step) then count_log(record, bytes) end
    tell_later(f.watchers, id, lines, bytes_apart)
  end
  return f.cancel and 'cancelled' or 'ok'
end

local words, failures, failure = {}, 0, nil
local at = more_args
for key = more_keys, #KEYS, 2 do
  local count = tonumber(ARGV[at + 3])
  local is_done, word =
    pcall(append, KEYS[key], KEYS[key + 1], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), at + 4, count)
  if not is_done then
    failures, failure = failures + 1, word
    word = 'error ' .. (type(word) == 'table' and word.err or tostring(word))
  end
  words[#words + 1] = word
  at = at + 4 + count
end
-- A store that takes no writes has to be seen as one.
if failures == #words then return type(failure) == 'table' and failure or redis.error_reply(failure) end
for _, channel in ipairs(channels) do redis.call(PUBLISH, channel, table.concat(news[channel], '\n')) end
return words
