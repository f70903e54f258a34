-- Gives a new attempt the right to write, or says why there is nothing to run. The first act of every attempt.
--
-- KEYS[1] record   KEYS[2] log   KEYS[3] load
-- ARGV[1] new token   ARGV[2] channel of the claiming worker   ARGV[3] record version
-- ARGV[4] longest time from the first claim to the end, ms   ARGV[5] most attempts
--
-- Returns { kind, server time in ms, then name, value, … of the record for the kinds that took the lease }:
--   missing         no such record: deleted, or expired
--   unknown_version written by another release: left for a worker that knows it
--   terminal        already ended
--   cancelled       somebody asked for the end, or nobody waits any more          (lease taken)
--   expired         waited longer than it may, or ran out of time over attempts   (lease taken)
--   broken_off      an earlier attempt died after its output became visible       (lease taken)
--   exhausted       every attempt it may have is used up                          (lease taken)
--   run             attempt counted, status in_progress                           (lease taken)
-- A taken lease makes every older token superseded. Running it twice with two tokens leaves the later one; twice
-- with one token, after a lost reply, it counts one attempt.

local record = KEYS[1]
local f = redis.call('HMGET', record, 'version', 'status', 'attempt', 'cancel', 'watchers', 'background',
  'left_at', 'grace_ms', 'queue_by', 'run_by', 'seq', 'stream', 'tenant', 'bytes', 'followed', 'counted')
local version, status, attempt, cancel, watchers, background = f[1], f[2], tonumber(f[3] or '0'), f[4], f[5], f[6]
local stream = f[12] == '1'
local seq = tonumber(f[11] or '0')
if not status then return { 'missing' } end
if version ~= ARGV[3] then return { 'unknown_version' } end
if status ~= 'queued' and status ~= 'in_progress' then return { 'terminal' } end

local now = now_ms()
if f[16] == ARGV[1] then attempt = attempt - 1 end
local run_by = tonumber(f[10] or '')
local kind = 'run'
if cancel or is_abandoned(record, now, background, watchers, f[7], f[8]) then
  kind = 'cancelled'
elseif status == 'queued' and now > tonumber(f[9]) then
  kind = 'expired'
elseif run_by and now > run_by then
  kind = 'expired'
elseif stream and seq > (status == 'queued' and 1 or 2) then
  kind = 'broken_off'
elseif attempt >= tonumber(ARGV[5]) then
  kind = 'exhausted'
end

-- Everything that changes is written by one command: the store logs and replicates commands, not fields.
if kind ~= 'run' then
  redis.call('HSET', record, 'token', ARGV[1], 'worker', ARGV[2])
else
  attempt = attempt + 1
  run_by = run_by or now + tonumber(ARGV[4])
  local changes = { 'token', ARGV[1], 'worker', ARGV[2], 'attempt', attempt, 'counted', ARGV[1], 'run_by', run_by }
  if status ~= 'queued' then
    redis.call('HSET', record, unpack(changes))
  else
    leave_queue(KEYS[3], f[13], f[14])
    seq = 2
    redis.call('HSET', record, 'status', 'in_progress', 'seq', seq, 'started_at', now, unpack(changes))
    local event = '{"type":"response.in_progress"}'
    if stream then redis.call('XADD', KEYS[2], '1-' .. seq, 'e', event) end
    -- A synchronous caller waits for the end alone and is spared the message.
    if stream or f[15] then
      local id = redis.call('HGET', record, 'id')
      tell_watchers(watchers, id .. ' ' .. seq .. ' 1 -\n' .. event)
    end
  end
end
-- What the attempt needs, and no more: a record has twice as many fields.
local names = { 'id', 'status', 'tier', 'request', 'queue', 'accepted_at', 'started_at', 'request_id', 'input', 'enqueued' }
local values = redis.call('HMGET', record, unpack(names))
local reply = { kind, tostring(now), 'tenant', f[13], 'stream', f[12], 'seq', tostring(seq), 'attempt', tostring(attempt),
  'run_by', tostring(run_by or now) }
for at, name in ipairs(names) do
  if values[at] then
    reply[#reply + 1] = name
    reply[#reply + 1] = values[at]
  end
end
return reply
