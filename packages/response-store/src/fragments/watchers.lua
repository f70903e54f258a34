-- Fragment: the api processes that have somebody attached to a response, by their leases.

-- Most bytes that a message brings. The store cuts a subscriber that has 32 MB of messages to read
-- (client-output-buffer-limit), and with it all that its process waits for. What is larger is told of without its
-- content, and its readers take that from the record or the log.
local most_bytes = 65536

-- Publishes lines to each of them as one message. The name of a lease is the channel of its holder. `bytes_apart` counts
-- what belongs to them and is not there.
local function tell_watchers(watchers, id, lines, bytes_apart)
  if not watchers then return end
  local bytes = bytes_apart or 0
  for _, line in ipairs(lines) do bytes = bytes + #line + 1 end
  local message = bytes > most_bytes and id .. ' look' or table.concat(lines, '\n')
  for channel in string.gmatch(watchers, '%S+') do
    redis.call(PUBLISH, channel, message)
  end
end

-- The list without one lease.
local function without_watcher(watchers, lease)
  local others = {}
  for each in string.gmatch(watchers or '', '%S+') do
    if each ~= lease then others[#others + 1] = each end
  end
  return table.concat(others, ' ')
end
