-- Fragment: who takes the places of a tenant, and who is next; see places.lua.

-- A response waits in its line for its turn.
local function join_line(load, tenant, queue, id, turn)
  redis.call('ZADD', line_key(load, tenant, queue), turn, id)
  redis.call('HSETNX', places_key(load, tenant), 'line:' .. queue, '')
end

-- Takes a place for a response, unless it has one. False when there is none, and then it stands in its line, where the
-- rescue finds it if its worker dies before it has moved the job. `is_gone` says of an id that nothing runs.
local function take_place(load, tenant, queue, id, turn, is_gone)
  local running = running_key(load, tenant)
  if redis.call('SISMEMBER', running, id) == 0 then
    local most = tonumber(redis.call('HGET', places_key(load, tenant), 'most')) or math.huge
    local count = redis.call('SCARD', running)
    -- A record that was deleted behind our back kept its place.
    for _, other in ipairs(count >= most and redis.call('SRANDMEMBER', running, 2) or {}) do
      if is_gone(other) then count = count - redis.call('SREM', running, other) end
    end
    if count >= most then
      join_line(load, tenant, queue, id, turn)
      return false
    end
    redis.call('SADD', running, id)
  end
  redis.call('ZREM', line_key(load, tenant, queue), id)
  return true
end

-- A response waits for a place, in its turn. Returns whether it has been let into its queue before, or runs.
local function stand_in_line(load, tenant, queue, id, turn)
  if redis.call('SISMEMBER', running_key(load, tenant), id) == 1 then return 'runs' end
  local score = redis.call('ZSCORE', line_key(load, tenant, queue), id)
  if score and tonumber(score) < 0 then return 'let_in' end
  join_line(load, tenant, queue, id, turn)
  return 'waits'
end

-- A response has its end, or waits for something else: it needs no place.
local function leave_place(load, tenant, queue, id)
  redis.call('SREM', running_key(load, tenant), id)
  redis.call('ZREM', line_key(load, tenant, queue), id)
end

-- Takes those out of the lines of a tenant that may go into their queues now, as { id, queue }.
local function next_in_line(load, tenant)
  local places, found = places_key(load, tenant), {}
  local fields = redis.call('HGETALL', places)
  local most = math.huge
  for at = 1, #fields, 2 do
    if fields[at] == 'most' then most = tonumber(fields[at + 1]) end
  end
  local free = most - redis.call('SCARD', running_key(load, tenant))
  if free <= 0 then return found end
  for at = 1, #fields, 2 do
    local queue = string.match(fields[at], '^line:(.*)$')
    if queue then
      local line = line_key(load, tenant, queue)
      local room = math.min(free - redis.call('ZCOUNT', line, '-inf', '(0'), 100)
      if room > 0 then
        local ids = redis.call('ZRANGEBYSCORE', line, '(0', '+inf', 'WITHSCORES', 'LIMIT', 0, room)
        for each = 1, #ids, 2 do
          redis.call('ZADD', line, '-' .. ids[each + 1], ids[each])
          found[#found + 1] = { ids[each], queue }
        end
        if #ids == 0 and redis.call('EXISTS', line) == 0 then redis.call('HDEL', places, fields[at]) end
      end
    end
  end
  return found
end
