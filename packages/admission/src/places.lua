-- Fragment: how many responses of a tenant run at a time. Only tenants with such a limit have these keys:
--   places:<tenant>    hash: `most` that run at a time, `turn` of the one that was accepted last, and a field
--                      `line:<queue>` for each line there is
--   running:<tenant>   set: the responses that have a place
--   line:<tenant>:<queue>   sorted set: responses that wait for one, scored by their turns. Those that are in their queue
--                      and have no place yet have their turn below zero.
--
-- A place is taken by the claim, where the limit holds whatever the queues do. A line lets as many into its queue as there
-- are free places. So a model that takes nothing keeps no place from another one.

local function places_key(load, tenant) return string.sub(load, 1, -5) .. 'places:' .. tenant end
local function running_key(load, tenant) return string.sub(load, 1, -5) .. 'running:' .. tenant end
local function line_key(load, tenant, queue) return string.sub(load, 1, -5) .. 'line:' .. tenant .. ':' .. queue end

-- Gives a response of a tenant its turn. Returns the turn, and how many run.
local function take_turn(load, tenant, most)
  local places = places_key(load, tenant)
  local turn = redis.call('HINCRBY', places, 'turn', 1)
  if redis.call('HGET', places, 'most') ~= tostring(most) then redis.call('HSET', places, 'most', tostring(most)) end
  return turn, redis.call('SCARD', running_key(load, tenant))
end

-- Takes the limit of a tenant away. Returns a turn if there was one: others may wait for a place, and the response that joins their line lets
-- them in.
local function lift_limit(load, tenant)
  local places = places_key(load, tenant)
  if redis.call('HDEL', places, 'most') == 1 then return redis.call('HINCRBY', places, 'turn', 1) end
end

-- A response goes into its queue at once.
local function pass_line(load, tenant, queue, id, turn)
  redis.call('ZADD', line_key(load, tenant, queue), -turn, id)
  redis.call('HSETNX', places_key(load, tenant), 'line:' .. queue, '')
end
