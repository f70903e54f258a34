-- Fragment: the limit of requests per minute. The window is the current second and the 59 before it, in sixty buckets
-- of a hash. A bucket leaves the window when the clock moves on, so the sum is kept beside the buckets and corrected by
-- what has left since the last request.

-- How many seconds ago the oldest and the newest request of the window came.
local function request_ages(rate, second)
  local oldest, newest = 0, 59
  for _, name in ipairs(redis.call('HKEYS', rate)) do
    local bucket = tonumber(name)
    if bucket then
      local age = (second - bucket) % 60
      oldest, newest = math.max(oldest, age), math.min(newest, age)
    end
  end
  return oldest, newest
end

-- Moves the window to the present. Returns the requests in it and its second.
local function requests_in_window(rate, now)
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

-- Counts a request in the window that `requests_in_window` has moved.
local function count_request(rate, sum, second)
  redis.call('HINCRBY', rate, second % 60, 1)
  redis.call('HSET', rate, 'sum', sum + 1, 'last', second)
  redis.call('PEXPIRE', rate, 61000)
end
