-- Fragment: events that are too long to travel inside a script. Their attempt writes each to a key of its own before, and
-- `+<token> <bytes>` stands for it among the events, which are JSON, and in the log.

-- The event of a response that nobody ends stays this long, in ms.
local open_event_ms = 604800000

-- The token and the bytes of a long event; nil for any other.
local function long_event_of(text)
  if string.byte(text) ~= 43 then return nil end
  local token, bytes = string.match(text, '^%+(%S+) (%d+)$')
  return token, tonumber(bytes)
end

-- Looks at the events in ARGV, of which the first has the number `first`. Returns how many bytes they have in keys of
-- their own and `<token>:<number>` of each that has one, or nil when one of those is not there, or not all of it.
local function look_at_long_events(log, first, from, to)
  local bytes, names = 0, {}
  for at = from, to do
    local token, length = long_event_of(ARGV[at])
    if token then
      local name = token .. ':' .. (first + at - from)
      if redis.call('STRLEN', log .. ':' .. name) ~= length then return nil end
      names[#names + 1] = name
      bytes = bytes + length + room_of(length)
    end
  end
  return bytes, names
end

-- Lets long events stay for so long, and returns their names in one text.
local function keep_long_events(log, names, ms)
  for _, name in ipairs(names) do redis.call('PEXPIRE', log .. ':' .. name, ms) end
  return table.concat(names, ' ')
end
