-- Fragment: what a tenant may do. The accept calls `enter`, a claim that starts a response `start`, an end `finish`.
-- A weight counts one response and its size; see waiting.ts.

local per_response = 4294967296

-- Adds a weight to a counter unless that takes it over a bound. Returns whether it was added.
--
-- Counters that were lost, because somebody deleted them, are too low for as long as something waits that they do not
-- know. Taking a large response off such a counter borrows from its number, which leaves a size that nothing has: it
-- counts as none.
local function add_within(load, counter, weight, most, most_units)
  local sum = redis.call('HINCRBY', load, counter, weight)
  local units = sum % per_response
  if units >= per_response / 2 then units = 0 end
  if math.floor(sum / per_response) <= most and units <= most_units then return true end
  redis.call('HINCRBY', load, counter, '-' .. weight)
  return false
end

-- Lets a response into the queue, or says why not. A refusal leaves every number as it was.
--
-- Limits are numbers; nil is no limit. `weight` is text, so that it is passed on without being printed.
-- Returns a word: admitted | rate_limited | tenant_queue_full | queue_full, then requests left, ms until none of the
-- window counts any more, and ms until another try makes sense; empty texts where there is no limit of requests.
local function enter(load, rate, tenant, weight, limits, now)
  local sum, second = 0, 0
  local per_minute = limits.requests_per_minute
  if per_minute then
    sum, second = requests_in_window(rate, now)
    if sum >= per_minute then
      local oldest, newest = request_ages(rate, second)
      return 'rate_limited', '0', (second - newest + 60) * 1000 - now, (second - oldest + 60) * 1000 - now
    end
  end
  local refused
  if not add_within(load, 'tenant:' .. tenant, weight, limits.tenant_queued or math.huge, math.huge) then
    refused = 'tenant_queue_full'
  elseif not add_within(load, 'all', weight, limits.queued, limits.queued_units) then
    redis.call('HINCRBY', load, 'tenant:' .. tenant, '-' .. weight)
    refused = 'queue_full'
  end
  if refused then
    if not per_minute then return refused, '', '', 1000 end
    local reset = 0
    if sum > 0 then
      local _, newest = request_ages(rate, second)
      reset = (second - newest + 60) * 1000 - now
    end
    return refused, per_minute - sum, reset, 1000
  end
  if not per_minute then return 'admitted', '', '', 0 end
  count_request(rate, sum, second)
  return 'admitted', per_minute - sum - 1, (second + 60) * 1000 - now, 0
end

-- Takes a weight off a counter, to nothing at the lowest: a counter that was lost is right again when all that it does
-- not know has left.
local function take_off(load, counter, weight)
  if redis.call('HINCRBY', load, counter, '-' .. weight) < 0 then redis.call('HSET', load, counter, '0') end
end

-- A response that waited does so no longer.
local function stop_waiting(load, tenant, weight)
  take_off(load, 'all', weight)
  take_off(load, 'tenant:' .. tenant, weight)
end

-- A worker begins with a response that waited.
local function start(load, tenant, weight)
  stop_waiting(load, tenant, weight)
end

-- A response has its end, or is erased, whether or not it was ever started.
local function finish(load, tenant, weight, has_started)
  if not has_started then stop_waiting(load, tenant, weight) end
end
