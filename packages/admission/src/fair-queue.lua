-- Fragment: the order in which the responses of one queue run, by start-time fair queueing (Goyal, Vin and Cheng:
-- "Start-time Fair Queueing", SIGCOMM 1996). A flow is a tenant in a service tier. Each response gets a start tag: the
-- virtual time, or the end of what its flow has asked for already, whichever is later. The virtual time is the tag of the
-- response that was started last. A flow that asks for little is always at the front, and flows that ask for more than
-- there is share it by their weights.
--
-- The state of a queue is one sorted set:
--   <tenant>:<tier>   where the next tag of a flow begins: only as long as that lies ahead does it mean anything
--   now      the virtual time, in ticks; it never goes back
--   base     the tick of the priority 1; priorities are whole numbers up to 2^21, so it follows the virtual time
--   next_base, moved, shift   see renumber.lua in the store
-- Queues whose numbers have gone far stand in a set, `far`, where the rescue finds them.

-- The furthest that a flow's tags run ahead of the virtual time, in ticks. What waits behind that waits in its order.
local most_ahead = 500000

local most_priority = 2097152

-- From this number on a queue has gone far. A tag is at most `most_ahead` from the virtual time, so the numbers stay below
-- the last one for a long time after that. And those of what comes back late, with a tag that the virtual time has passed,
-- stay above all that a new base gives for as long.
local far_from = 1000000

local function fair_key(load, queue) return string.sub(load, 1, -5) .. 'fair:' .. queue end

local function far_key(load) return string.sub(load, 1, -5) .. 'far' end

local function flow_of(tenant, tier) return tenant .. ':' .. tier end

-- What comes back of a flow is one of its own, from the virtual time on: it is not before the newcomers of others, and not behind all that its own has waiting.
local function return_flow_of(tenant, tier) return flow_of(tenant, tier) .. ':back' end

-- The priority of a tag by the numbers in use. While a queue is renumbered, what comes before the last that was moved is
-- counted anew.
local function number_of(fair, tag, base, next_base, is_behind)
  local number = math.floor(tag - base) + (is_behind and 2 or 1)
  if next_base then
    local f = redis.call('ZMSCORE', fair, 'moved', 'shift')
    if number < tonumber(f[1]) then number = number - tonumber(f[2]) end
  end
  return math.max(1, math.min(number, most_priority))
end

-- Gives the next response of a flow its start tag, and what it costs to the flow. Returns the tag, the priority, and whether
-- the order of the queue has begun with it.
-- One that finds nothing of its flow ahead goes before those of its tick that have waited their turn.
local function take_tag(load, queue, flow, cost)
  local fair = fair_key(load, queue)
  local f = redis.call('ZMSCORE', fair, 'now', flow, 'base', 'next_base')
  local now, from = tonumber(f[1]) or 0, tonumber(f[2]) or 0
  local tag = math.min(math.max(now, from), now + most_ahead)
  redis.call('ZADD', fair, tag + cost, flow)
  local number = number_of(fair, tag, tonumber(f[3]) or 0, f[4], from > now)
  if number >= far_from then redis.call('SADD', far_key(load), queue) end
  return tag, number, not f[1]
end

-- How far the virtual time may have passed the tag of a response that comes back, in ticks: fifty responses of weight 1. Fewer hold up nobody, and each new tag
-- costs a claim.
local most_passed = 200

-- Whether the virtual time has passed the tag of a response that comes back, so that it needs a new one.
local function is_passed(fair, tag)
  return tonumber(tag) < (tonumber(redis.call('ZSCORE', fair, 'now')) or 0) - most_passed
end

-- The priority of a response that has its tag already.
local function priority_of(fair, tag)
  local f = redis.call('ZMSCORE', fair, 'base', 'next_base')
  return number_of(fair, tonumber(tag), tonumber(f[1]) or 0, f[2], false)
end

-- A response was started: the virtual time is its tag, unless it is further already. One that an older release has
-- accepted has none.
local function advance(fair, tag)
  if tag then redis.call('ZADD', fair, 'GT', tag, 'now') end
end
