-- Fragment: the api processes that have somebody attached to a response, by their leases.

-- Publishes a message to each of them. The name of a lease is the channel of its holder.
local function tell_watchers(watchers, message)
  if not watchers then return end
  for channel in string.gmatch(watchers, '%S+') do
    redis.call('PUBLISH', channel, message)
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
