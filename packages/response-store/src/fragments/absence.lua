-- Fragment: whether anybody still waits for a response.

-- A lease also lapses while the store is away, and is taken again a moment after. A process without a lease counts as
-- dead after this long, in ms. Workers look every second: with 3000 a fourth look was needed at times, and with it all
-- of the ten seconds within which the death of a process is to be noticed.
local watcher_lapse_ms = 2500

local function has_live_watcher(watchers)
  for lease in string.gmatch(watchers or '', '%S+') do
    if redis.call('EXISTS', lease) == 1 then return true end
  end
  return false
end

-- Notes the moment a response was first found without a caller, and forgets it when there is one. Returns whether it has
-- been without one for longer than its grace. A response in the background needs no caller.
--
-- f holds background, watchers, left_at and grace_ms of the record.
local function note_absence(record, f, now)
  if f.background then return false end
  if has_live_watcher(f.watchers) then
    if f.left_at then clear(record, 'left_at') end
    return false
  end
  local since = f.left_at
  if not since then
    since = now
    write(record, { left_at = now })
  end
  local grace = f.grace_ms or 0
  if f.watchers and f.watchers ~= '' then grace = math.max(grace, watcher_lapse_ms) end
  return now - since >= grace
end
