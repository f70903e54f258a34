-- Takes a response in, or refuses it: idempotency, admission, record and first events in one step. A refusal leaves
-- every number as it was and consumes nothing.
--
-- KEYS  record, log, open, load, rate (requests of the tenant), stored (its list), idempotency (of its key, or the
--       record again), large (what went ahead, or the record again), previous (the record that it continues from, or
--       its own, which there is none of yet)
-- ARGV  deadline       latest time this may run, ms: a call that was held up by an outage, and whose caller has been
--                      answered already, does nothing
--       requests_per_minute, tenant_queued   numbers, or empty for no limit
--       queued, queued_units                 most that wait in all, in number and KiB
--       queue_ms       longest wait in the queue
--       digest, key_ms       of the body under an idempotency key, and how long that stands; empty without one
--       list_ms        renews the expiry of the tenant's list; empty to leave it
--       id, tenant, tier, queue, request, request_id, weight, stream, stored_flag, background, grace_ms, watchers,
--       input_json     the fields of the record; input_json is empty when the input went ahead
--       has_large, request_ahead   whether anything went ahead, and how many bytes of it are the request
--       previous_id    what it continues from; empty for nothing
--       context_bytes, context_turns   most that it may continue from, in bytes and in responses
--       calls, calls_length   tool calls in the input, and the most of a list that is kept; see tool-calls.ts
--       then the digests of the calls that must stand in what it continues from
--
-- Returns { kind, requests left, ms until none count, accepted at or ms until another try }:
--   accepted | too_late | rate_limited | tenant_queue_full | queue_full
-- or, for a request that refers to what it may not, and consuming nothing:
--   { previous_not_found }            unknown, foreign, deleted or not stored: nobody can tell which
--   { previous_not_finished, status }
--   { context_too_large } | { context_too_long }
--   { call_not_found, which, whether older calls were forgotten }   `which` counts the digests from one
-- or, for an idempotency key that stands for a response already, and consuming nothing:
--   { duplicate, response id }   the same body: that response is the answer
--   { mismatch }                 another body
--   { gone }                     the same body, but the answer was not kept

local now = now_ms()
-- The same call again, after its reply was lost: ids are never used twice. Nothing is done here, so its time does not
-- matter.
local known = read(record, 'accepted_at')
if known.accepted_at then
  local left = ''
  if requests_per_minute then left = math.max(0, requests_per_minute - (tonumber(redis.call('HGET', rate, 'sum')) or 0)) end
  return { 'accepted', left, 60000, known.accepted_at }
end
if now > deadline then return { 'too_late' } end

-- A key stands for its response as long as that is running or has an answer. One that failed or was cancelled leaves it
-- free for another try.
if digest ~= '' then
  local held = redis.call('HMGET', idempotency, 'id', 'digest', 'record')
  if held[1] then
    local other = read(held[3], 'status stored')
    if not is_repeatable(other.status) then
      if held[2] ~= digest then return { 'mismatch' } end
      if not other.status or (not is_open(other.status) and not other.stored) then return { 'gone' } end
      return { 'duplicate', held[1] }
    end
  end
end

-- What went ahead may have been taken away by an api that gave up on this accept.
local large_bytes = has_large == '1' and redis.call('STRLEN', large) or 0
if has_large == '1' and large_bytes == 0 then return { 'too_late' } end

-- What is before it is known from the facts that each record keeps of all before it: however long a chain is, one record
-- is looked at. A foreign record costs as much as none.
local bytes_before, turns_before, calls_before = 0, 0, ''
if previous_id ~= '' then
  local before = read(previous, 'tenant stored status context_bytes context_turns')
  if before.tenant ~= tenant or not before.stored or not before.context_turns then return { 'previous_not_found' } end
  if before.status ~= COMPLETED and before.status ~= INCOMPLETE then
    return { 'previous_not_finished', before.status }
  end
  bytes_before, turns_before = before.context_bytes, before.context_turns
  if bytes_before > context_bytes then return { 'context_too_large' } end
  if turns_before > context_turns then return { 'context_too_long' } end
  calls_before = read(previous, 'context_calls').context_calls
end
if #ARGV >= more_args then
  local made = {}
  for call in string.gmatch(calls_before, '%S+') do made[call] = true end
  for at = more_args, #ARGV do
    if not made[ARGV[at]] then
      return { 'call_not_found', at - more_args + 1, #calls_before >= calls_length and 1 or 0 }
    end
  end
end

local limits = {
  requests_per_minute = requests_per_minute, tenant_queued = tenant_queued,
  queued = queued, queued_units = queued_units,
}
local kind, left, reset, wait = enter(load, rate, tenant, weight, limits, now)
if kind ~= 'admitted' then return { kind, left, reset, wait } end

-- Printed once: a number in a command is formatted anew each time. Not by %d, which has 32 bits on the embedded store.
local accepted_at = string.format('%.0f', now)
local queue_by = string.format('%.0f', now + queue_ms)
write(record, {
  version = VERSION, id = id, tenant = tenant, status = QUEUED, tier = tier, queue = queue, request = request,
  input = input_json, request_id = request_id, weight = weight, stream = stream, stored = stored_flag,
  background = background, grace_ms = grace_ms, watchers = watchers, accepted_at = accepted_at, queue_by = queue_by,
  seq = '1', previous = previous_id, context_turns = turns_before + 1,
  context_bytes = string.format('%.0f', bytes_before + #input_json + large_bytes - request_ahead),
  context_calls = string.sub(calls_before .. calls, -calls_length)
})
redis.call('ZADD', open, queue_by, id)
-- Nothing of an open response expires. Its end starts its retention, and the rescue ends what nobody else does.
if has_large == '1' then
  redis.call('PERSIST', large)
  write(record, { large_bytes = large_bytes, request_ahead = request_ahead })
end
if digest ~= '' then
  redis.call('DEL', idempotency)
  redis.call('HSET', idempotency, 'id', id, 'digest', digest, 'record', record)
  redis.call('PEXPIRE', idempotency, key_ms)
  write(record, { idempotency = idempotency })
end
if stored_flag == '1' then
  redis.call('ZADD', stored, accepted_at, id)
  if list_ms then
    redis.call('ZREMRANGEBYSCORE', stored, '-inf', now - list_ms)
    -- Nobody's entry: a list that lost its last response would be gone, and its expiry with it.
    redis.call('ZADD', stored, 0, '')
    redis.call('PEXPIRE', stored, list_ms)
  end
end
if stream == '1' then
  redis.call('XADD', log, '1-0', 'e', '{"type":"response.created"}')
  redis.call('XADD', log, '1-1', 'e', '{"type":"response.queued"}')
end
return { 'accepted', left, reset, accepted_at }
