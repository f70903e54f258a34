-- Fragment: whether a response may come in. A weight counts one response and its size; see waiting.ts.

local per_response = 4294967296

-- Keys of the requests and the tokens of a tenant; see admission-keys.ts.
local function rate_keys(load, tenant)
  local prefix = string.sub(load, 1, -5)
  return prefix .. 'rate:requests:' .. tenant, prefix .. 'rate:tokens:' .. tenant
end

-- Reads the limits of a tenant and the size of one response, as `printLimits` wrote them, by their names.
local function limits_of(words)
  local limits = { input_tokens = 0, output_tokens = 0 }
  for name, value in string.gmatch(words, '(%S+)=(%S+)') do limits[name] = tonumber(value) end
  return limits
end

-- Adds a weight to a counter unless that takes it over a bound; nil is none. Returns whether it was added, and how many wait then.
--
-- Counters that were lost, because somebody deleted them, are too low for as long as something waits that they do not
-- know. Taking a large response off such a counter borrows from its number, which leaves a size that nothing has: it
-- counts as none.
local function add_within(load, counter, weight, most, most_bytes)
  local sum = redis.call('HINCRBY', load, counter, weight)
  local units = sum % per_response
  if units >= per_response / 2 then units = 0 end
  local count = math.floor(sum / per_response)
  if count <= (most or math.huge) and units * 1024 <= (most_bytes or math.huge) then return true, count end
  redis.call('HINCRBY', load, counter, '-' .. weight)
  return false, count - 1
end

-- Where a tenant stands with one of its limits of a minute.
--
-- Returns nil without a limit, else the window: rate, sum, second, limit, amount, and whether the amount fits in.
local function look_at(rate, limit, amount, now)
  if not limit then return nil end
  local sum, second = used_in_window(rate, now)
  return { rate = rate, sum = sum, second = second, limit = limit, amount = amount, fits = sum + amount <= limit }
end

-- Returns the rest of a limit, and milliseconds until all of it is there again; empty texts without a limit.
local function standing(window, now, is_used)
  if not window then return '', '' end
  local left = window.limit - window.sum - (is_used and window.amount or 0)
  local reset = 0
  if is_used then
    reset = until_gone(0, window.second, now)
  elseif window.sum > 0 then
    local _, all = waits(window.rate, window.second, now, 0)
    reset = all
  end
  return string.format('%.0f', math.max(0, left)), string.format('%.0f', reset)
end

-- Lets a response into the queue, or says why not. A refusal leaves every number as it was.
--
-- `limits` are those of the tenant, and `all` those of the service. Limits are numbers; nil is no limit. `weight` is text, so that it is passed on without being printed. `tokens` is what
-- the response is expected to take, `bytes` what it takes in the store, `held` what its tenant holds there, and `over_budget` whether a
-- budget has less left than it may take.
-- Returns a word: admitted | rate_limited | tokens_limited | too_many_tokens | over_budget | too_many_bytes | store_share_full |
-- tenant_queue_full | queue_full, then the
-- requests left and ms until all are back, ms until another try makes sense, the same two of the tokens, and how many
-- of the tenant wait. Empty texts stand where there is no limit.
local function enter(load, rate, token_rate, tenant, weight, tokens, bytes, held, limits, all, now, over_budget)
  local requests = look_at(rate, limits.requests_per_minute, 1, now)
  local used = look_at(token_rate, limits.tokens_per_minute, tokens, now)
  local refused, wait, waiting = nil, 1000, 0
  if requests and not requests.fits then
    refused, wait = 'rate_limited', waits(rate, requests.second, now, 1)
  elseif used and tokens > used.limit then
    refused, wait = 'too_many_tokens', 0
  elseif used and not used.fits then
    refused, wait = 'tokens_limited', waits(token_rate, used.second, now, used.sum + tokens - used.limit)
  elseif over_budget then
    refused, wait = 'over_budget', 0
  elseif limits.stored_bytes and bytes > limits.stored_bytes then
    refused, wait = 'too_many_bytes', 0
  elseif limits.stored_bytes and held.sum + bytes > limits.stored_bytes then
    refused, wait = 'store_share_full', until_held_room(held, now, held.sum + bytes - limits.stored_bytes)
  else
    local is_in
    is_in, waiting = add_within(load, 'tenant:' .. tenant, weight, limits.queued, limits.queued_bytes)
    if not is_in then
      refused = 'tenant_queue_full'
    elseif not add_within(load, 'all', weight, all.queued, all.queued_bytes) then
      redis.call('HINCRBY', load, 'tenant:' .. tenant, '-' .. weight)
      refused = 'queue_full'
    end
  end
  local requests_left, requests_reset = standing(requests, now, not refused)
  local tokens_left, tokens_reset = standing(used, now, not refused)
  if refused then return refused, requests_left, requests_reset, wait, tokens_left, tokens_reset, waiting end
  if requests then use(requests.rate, requests.sum, requests.second, 1) end
  if used then use(used.rate, used.sum, used.second, tokens) end
  return 'admitted', requests_left, requests_reset, 0, tokens_left, tokens_reset, waiting
end
