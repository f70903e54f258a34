-- Takes a response in, or refuses it: limits, bounds, record and first events in one step. A refusal writes
-- and consumes nothing.
--
-- KEYS[1] record   KEYS[2] log   KEYS[3] open   KEYS[4] load   KEYS[5] rate of requests
-- KEYS[6] stored responses of the tenant   KEYS[7] idempotency key, or the record again when there is none
-- KEYS[8] input, where it went ahead
-- ARGV[1] latest time this may run, ms of this server's clock: a command that was held up by an outage and
--         whose caller has been answered already does nothing
-- ARGV[2] response id   ARGV[3] tenant
-- ARGV[4] requests a minute, empty for no limit   ARGV[5] most waiting of this tenant, empty for no limit
-- ARGV[6] most waiting in all   ARGV[7] most bytes waiting in all   ARGV[8] bytes of this one
-- ARGV[9] longest wait in the queue, ms   ARGV[10] expiry of record and log, ms   ARGV[11] '1' if it streams
-- ARGV[12] digest of the body under an idempotency key, empty without one   ARGV[13] expiry of that key, ms
-- ARGV[14] how long a stored response can be listed at most, ms, the same for all; empty when it is not to be stored
-- ARGV[15…] further fields of the record: name, value, …
--
-- Returns { kind, requests left, ms until none count, accepted at or ms until another try }:
--   accepted | too_late | rate_limited | tenant_queue_full | queue_full
-- or, for an idempotency key that stands for a response already, and consuming nothing:
--   { duplicate, response id }   the same body: that response is the answer
--   { mismatch }                 another body
--   { gone }                     the same body, but the answer was not kept

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now > tonumber(ARGV[1]) then return { 'too_late' } end
local id, tenant = ARGV[2], ARGV[3]

-- The same call again, after its reply was lost: ids are never used twice.
local accepted_at = redis.call('HGET', KEYS[1], 'accepted_at')
if accepted_at then
  local left = ''
  if ARGV[4] ~= '' then
    left = tostring(math.max(0, tonumber(ARGV[4]) - tonumber(redis.call('HGET', KEYS[5], 'sum') or '0')))
  end
  return { 'accepted', left, '60000', accepted_at }
end

-- A key stands for its response as long as that is running or has an answer; one that failed or was cancelled
-- leaves it free for another try.
if ARGV[12] ~= '' then
  local known = redis.call('HMGET', KEYS[7], 'id', 'digest', 'record')
  if known[1] then
    local f = redis.call('HMGET', known[3], 'status', 'stored')
    local status, is_stored = f[1], f[2] == '1'
    local has_ended = status and status ~= 'queued' and status ~= 'in_progress'
    if status ~= 'failed' and status ~= 'cancelled' then
      if known[2] ~= ARGV[12] then return { 'mismatch' } end
      if not status or (has_ended and not is_stored) then return { 'gone' } end
      return { 'duplicate', known[1] }
    end
  end
end

-- How many seconds ago the oldest and the newest request of the window came.
local function ages(rate, second)
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

-- The window is the current second and the 59 before it. A bucket leaves it when the clock moves on, so the
-- sum is kept beside the buckets and corrected by what has left since the last request.
local rate, limit = KEYS[5], tonumber(ARGV[4])
local second = math.floor(now / 1000)
local sum, last = 0, second
if limit then
  local f = redis.call('HMGET', rate, 'sum', 'last')
  sum, last = tonumber(f[1] or '0'), tonumber(f[2] or second)
  -- A clock that was set back must not empty or double the window.
  if last > second then second = last end
  for past = last - 59, math.min(second - 60, last) do
    local bucket = redis.call('HGET', rate, past % 60)
    if bucket then
      sum = sum - tonumber(bucket)
      redis.call('HDEL', rate, past % 60)
      redis.call('HSET', rate, 'sum', sum)
    end
  end
  if sum >= limit then
    local oldest, newest = ages(rate, second)
    local wait = (second - oldest + 60) * 1000 - now
    return { 'rate_limited', '0', tostring((second - newest + 60) * 1000 - now), tostring(wait) }
  end
end

-- Refused for another reason than its rate: the numbers of the window as they are.
local function full(kind)
  if not limit then return { kind, '', '', '1000' } end
  local reset = 0
  if sum > 0 then
    local _, newest = ages(rate, second)
    reset = (second - newest + 60) * 1000 - now
  end
  return { kind, tostring(limit - sum), tostring(reset), '1000' }
end

local load, bytes = KEYS[4], tonumber(ARGV[8])
local f = redis.call('HMGET', load, 'queued', 'bytes', 'queued:' .. tenant)
if ARGV[5] ~= '' and tonumber(f[3] or '0') >= tonumber(ARGV[5]) then
  return full('tenant_queue_full')
end
if tonumber(f[1] or '0') >= tonumber(ARGV[6]) or tonumber(f[2] or '0') + bytes > tonumber(ARGV[7]) then
  return full('queue_full')
end

local left, reset = '', ''
if limit then
  redis.call('HINCRBY', rate, second % 60, 1)
  redis.call('HSET', rate, 'sum', sum + 1, 'last', second)
  redis.call('PEXPIRE', rate, 61000)
  left, reset = tostring(limit - sum - 1), tostring((second + 60) * 1000 - now)
end
redis.call('HSET', load, 'queued', tonumber(f[1] or '0') + 1, 'bytes', tonumber(f[2] or '0') + bytes, 'queued:' .. tenant,
  tonumber(f[3] or '0') + 1)
redis.call('HSET', KEYS[1], 'id', id, 'tenant', tenant, 'status', 'queued', 'accepted_at', now, 'bytes', bytes,
  'queue_by', now + tonumber(ARGV[9]), 'seq', 1, 'stream', ARGV[11], 'stored', ARGV[14] == '' and '0' or '1', unpack(ARGV, 15))
redis.call('PEXPIRE', KEYS[1], ARGV[10])
redis.call('PEXPIRE', KEYS[8], ARGV[10])
redis.call('ZADD', KEYS[3], now, id)
if ARGV[12] ~= '' then
  redis.call('DEL', KEYS[7])
  redis.call('HSET', KEYS[7], 'id', id, 'digest', ARGV[12], 'record', KEYS[1])
  redis.call('PEXPIRE', KEYS[7], ARGV[13])
  redis.call('HSET', KEYS[1], 'idempotency', KEYS[7])
end
if ARGV[14] ~= '' then
  redis.call('ZADD', KEYS[6], now, id)
  -- Those whose time is over are dropped now and then, which is often enough for a list that leaves out what it
  -- cannot find; the rest goes with the set.
  if time[2] % 64 == 0 or redis.call('ZCARD', KEYS[6]) == 1 then
    redis.call('ZREMRANGEBYSCORE', KEYS[6], '-inf', now - tonumber(ARGV[14]))
    redis.call('PEXPIRE', KEYS[6], ARGV[14])
  end
end
if ARGV[11] == '1' then
  redis.call('XADD', KEYS[2], '1-0', 'e', '{"type":"response.created"}')
  redis.call('XADD', KEYS[2], '1-1', 'e', '{"type":"response.queued"}')
  redis.call('PEXPIRE', KEYS[2], ARGV[10])
end
return { 'accepted', left, reset, tostring(now) }
