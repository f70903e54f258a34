-- Fragment: how a response leaves what `enter` has counted. A claim that starts it calls `start`, its end `finish`.

-- Puts what was really used in the place of what was reserved when a response was accepted. What was too much comes back
-- while the second of the accept is in the window. What was too little counts in any case.
local function settle(rate, reserved, used, accepted_at, now)
  local sum, second = used_in_window(rate, now)
  local accepted = math.floor(accepted_at / 1000)
  local more = used - reserved
  if more == 0 then return end
  if second - accepted < 60 and redis.call('HEXISTS', rate, accepted % 60) == 1 then
    redis.call('HINCRBY', rate, accepted % 60, more)
    redis.call('HINCRBY', rate, 'sum', more)
  elseif more > 0 then
    use(rate, sum, second, more)
  end
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

-- A worker begins with a response that waited. `tag` is nil for one that an older release has accepted.
local function start(load, tenant, queue, weight, tag)
  stop_waiting(load, tenant, weight)
  advance(fair_key(load, queue), tag)
end

-- A response has its end, or is erased, whether or not it was ever started. `f` holds tenant, queue, weight, started_at,
-- turn, tokens and accepted_at of it. `used` is the number of tokens that it took; nil leaves what was reserved.
local function finish(load, id, f, used, now)
  if not f.started_at then stop_waiting(load, f.tenant, f.weight) end
  if f.turn then leave_place(load, f.tenant, f.queue, id) end
  if f.tokens and used then
    local _, token_rate = rate_keys(load, f.tenant)
    settle(token_rate, f.tokens, used, f.accepted_at, now)
  end
end
