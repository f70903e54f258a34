-- Reads a page of a log, by its size: XRANGE alone knows the number of events, and one may have many megabytes.
--
-- KEYS  log
-- ARGV  from        where to begin, as XRANGE takes it
--       count       most events
--       page_bytes  no further event is read past so many bytes
--       most_bytes  an event of more bytes is not read
--
-- Returns a list of number and JSON of each event; of a long one what the log has. When the first event is longer than
-- most_bytes, its length alone.

local reply = {}
local bytes = 0
for _ = 1, count do
  local entry = redis.call('XRANGE', log, from, '+', 'COUNT', 1)[1]
  if not entry then break end
  local json = entry[2][2]
  local _, apart = long_event_of(json)
  local length = apart or #json
  if length > most_bytes then
    if #reply == 0 then return length end
    break
  end
  reply[#reply + 1] = string.match(entry[1], '%d+$')
  reply[#reply + 1] = json
  bytes = bytes + length
  if bytes >= page_bytes then break end
  from = '(' .. entry[1]
end
return reply
