-- Fragment: the requests or the tokens that a tenant has used in a minute. The window is the current second and the 59
-- before it, in sixty buckets of a hash. A bucket leaves the window when the clock moves on, so the sum is kept beside the
-- buckets and corrected by what has left since the last use.

-- Moves the window to the present. Returns its sum and its second.
local function used_in_window(rate, now)
  local second = math.floor(now / 1000)
  local f = redis.call('HMGET', rate, 'sum', 'last')
  local sum, last = tonumber(f[1]) or 0, tonumber(f[2]) or second
  -- A clock that was set back must neither empty nor double the window.
  if last > second then second = last end
  for past = last - 59, math.min(second - 60, last) do
    local bucket = redis.call('HGET', rate, past % 60)
    if bucket then
      sum = sum - tonumber(bucket)
      redis.call('HDEL', rate, past % 60)
      redis.call('HSET', rate, 'sum', sum)
    end
  end
  return sum, second
end

-- The buckets of a window as { age in seconds, amount }, oldest first.
local function buckets_by_age(rate, second)
  local buckets, reply = {}, redis.call('HGETALL', rate)
  for at = 1, #reply, 2 do
    local bucket = tonumber(reply[at])
    if bucket then buckets[#buckets + 1] = { (second - bucket) % 60, tonumber(reply[at + 1]) } end
  end
  table.sort(buckets, function(a, b) return a[1] > b[1] end)
  return buckets
end

-- Milliseconds until a bucket of this age has left the window.
local function until_gone(age, second, now) return (second - age + 60) * 1000 - now end

-- Milliseconds until so much has left the window, if nothing more comes; and until all of it has.
local function waits(rate, second, now, amount)
  local buckets, left, soonest = buckets_by_age(rate, second), 0, 0
  if #buckets == 0 then return 0, 0 end
  for _, bucket in ipairs(buckets) do
    if left >= amount then break end
    left, soonest = left + bucket[2], until_gone(bucket[1], second, now)
  end
  return soonest, until_gone(buckets[#buckets][1], second, now)
end

-- Counts an amount in a window that `used_in_window` has moved.
local function use(rate, sum, second, amount)
  redis.call('HINCRBY', rate, second % 60, amount)
  redis.call('HSET', rate, 'sum', sum + amount, 'last', second)
  redis.call('PEXPIRE', rate, 61000)
end
