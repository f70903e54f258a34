-- Fragment: how a response leaves what `enter` has counted. A claim that starts it calls `start`, its end `finish`.

-- Replaces the tokens that were reserved when a response was accepted by those that it really used. Tokens that were reserved
-- in excess come back while the second of the accept is in the window. Tokens used in excess count in any case.
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

-- Takes a weight off a counter, never below zero: a counter that was lost is right again when all responses that it does not
-- know have left.
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
-- turn, tokens, accepted_at, reserved and key of it. `used` is the number of tokens that it took, and `spend` what they cost; nil leaves
-- what was reserved.
local function finish(load, id, f, used, now, spend)
  if not f.started_at then stop_waiting(load, f.tenant, f.weight) end
  if f.turn then leave_place(load, f.tenant, f.queue, id) end
  if f.tokens and used then
    local _, token_rate = rate_keys(load, f.tenant)
    settle(token_rate, f.tokens, used, f.accepted_at, now)
  end
  if f.reserved and used then settle_budgets(load, f, used, spend) end
end
