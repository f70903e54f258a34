-- Takes a response in, or refuses it: idempotency, admission, record and first events in one step. A refusal leaves
-- every number as it was and consumes nothing.
--
-- KEYS  record, log, open, load, fair (the order of its queue), stored_list (of the tenant), idempotency (of its key, or the
--       record again), large (what went ahead, or the record again), previous_record (that it continues from, or its own,
--       which there is none of yet), outbox
-- ARGV  the facts of the accept, by their names in accept-facts.ts; nothing happens past the deadline, since a call that an
--       outage held up has had its answer. Then the digests of the calls that must stand in what it continues from.
--
-- Returns { kind, requests left, ms until none count, accepted at or ms until another try, tokens left, ms until none
-- count, priority of its job; empty to let it wait outside of the queue }:
--   accepted | too_late | rate_limited | tokens_limited | too_many_tokens | too_many_bytes | store_share_full |
--   tenant_queue_full | queue_full | over_budget, and then the name of the limit and how much of it is left
-- or, for a request that refers to what it may not, and consuming nothing:
--   { previous_not_found }            unknown, foreign, deleted or not stored: nobody can tell which
--   { previous_not_finished, status }
--   { context_too_large } | { context_too_long } | { too_many_input_tokens, how many }
--   { call_not_found, which, whether older calls were forgotten }   `which` counts the digests from one
-- or, for an idempotency key that stands for a response already, and consuming nothing:
--   { duplicate, response id }   the same body: that response is the answer
--   { mismatch }                 another body
--   { gone }                     the same body, but the answer was not kept

local own = limits_of(own_limits)
local requests_per_minute, tokens_per_minute, concurrent = own.requests_per_minute, own.tokens_per_minute, own.concurrent
local rate, token_rate = rate_keys(load, tenant)
local held_of_key
local now = now_ms()
-- The same call again, after its reply was lost: ids are never used twice. Nothing is done here, so its time does not
-- matter.
local known = read(record, 'accepted_at tag')
if known.accepted_at then
  local function left_of(limit, key)
    return limit and math.max(0, limit - (tonumber(redis.call('HGET', key, 'sum')) or 0)) or ''
  end
  return {
    'accepted', left_of(requests_per_minute, rate), 60000, known.accepted_at,
    left_of(tokens_per_minute, token_rate), 60000, known.tag and priority_of(fair, known.tag) or ''
  }
end
if now > deadline then return { 'too_late' } end

-- A key stands for its response as long as that is running or has an answer. One that failed or was cancelled leaves it
-- free for another try.
if digest ~= '' then
  local held = redis.call('HMGET', idempotency, 'id', 'digest', 'record', 'held')
  held_of_key = held[4]
  if held[1] then
    local other = read(held[3], 'status stored background')
    if not is_repeatable(other.status) then
      if held[2] ~= digest then return { 'mismatch' } end
      if not other.status or (not is_open(other.status) and not other.stored and not other.background) then return { 'gone' } end
      return { 'duplicate', held[1] }
    end
  end
end

-- An api that gave up on this accept may have taken away what went ahead of it.
local large_bytes = request_ahead and redis.call('STRLEN', large) or 0
if request_ahead and large_bytes == 0 then return { 'too_late' } end

-- Each record keeps the facts of all that is before it, so one record is looked at, however long a chain is. A foreign
-- record costs as much as none.
local bytes_before, turns_before, calls_before = 0, 0, ''
local input_tokens = own.input_tokens
if previous ~= '' then
  local before = read(previous_record, 'tenant stored status context_bytes context_turns context_tokens')
  if before.tenant ~= tenant or not before.stored then return { 'previous_not_found' } end
  if before.status ~= COMPLETED and before.status ~= INCOMPLETE then
    return { 'previous_not_finished', before.status }
  end
  if not before.context_bytes then return { 'previous_not_found' } end
  bytes_before, turns_before = before.context_bytes, before.context_turns
  if bytes_before > most_context_bytes then return { 'context_too_large' } end
  if turns_before > most_context_turns then return { 'context_too_long' } end
  local tokens_before = before.context_tokens or math.ceil(bytes_before / 4)
  input_tokens = own.input_tokens + tokens_before
  if own.most_input and input_tokens > own.most_input then
    if not own.truncates then return { 'too_many_input_tokens', string.format('%.0f', input_tokens) } end
    input_tokens = own.most_input
  end
  calls_before = read(previous_record, 'context_calls').context_calls or ''
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

-- A response counts its own bytes, not those that it continues from. A list of calls is copied, so it counts here.
local context_calls = string.sub(calls_before .. calls, -calls_length)
local mark = stored == '1' and '' or 'u'
local bytes = bytes_of(tonumber(weight)) + room_of(large_bytes) + per_record + #context_calls
local new_parts = { { mark .. gone_by(now, hold_ms), bytes } }
if digest ~= '' then
  new_parts[2] = { gone_by(now, key_ms), per_key }
  bytes = bytes + per_key
end
local gone_parts = parts_of(held_of_key)
local held = look_at_held(load, tenant, now, gone_parts, new_parts)

local tokens = input_tokens + own.output_tokens
local spend = price ~= '' and price_of(price, input_tokens .. ' 0 0 ' .. own.output_tokens) or 0
local budgets, over = look_at_budgets(load, tenant, key, own, { tokens = tokens, spend = spend }, now)
local all = { queued = queued, queued_bytes = queued_bytes }
local kind, left, reset, wait, tokens_left, tokens_reset, waiting =
  enter(load, rate, token_rate, tenant, weight, tokens, bytes, held, own, all, now, over)
if kind == 'over_budget' then
  return { kind, left, reset, wait, tokens_left, tokens_reset, over[1], print_amount(over[2]) }
end
if kind ~= 'admitted' then return { kind, left, reset, wait, tokens_left, tokens_reset } end

-- Where a tenant has as many under way as may run, one more waits outside of the queue and has no tag yet. So does the first one after its
-- limit was taken away.
local turn, running, tag, priority, is_new_order
if concurrent then
  turn, running = take_turn(load, tenant, concurrent)
elseif must_renew then
  turn = lift_limit(load, tenant)
end
if not turn or (concurrent and waiting - 1 + running < concurrent) then
  tag, priority, is_new_order = take_tag(load, queue, flow_of(tenant, tier), cost)
  if turn then pass_line(load, tenant, queue, id, turn) end
else
  is_new_order = redis.call('EXISTS', fair) == 0
end

-- What a tenant and a queue have beside their responses stays for as long as the last of them. Each process has it renewed
-- once a minute, and it stays for some minutes longer, in ms: the last writes may be lost. What is new has no expiry yet,
-- whatever a process remembers: the store may have been emptied.
local longer_ms = 180000
local function renew(key) redis.call('PEXPIRE', key, hold_ms + longer_ms) end

if must_renew or is_new_order then
  -- Where nothing has a tag yet there is no order, and the first tag that is given later would make one that never expires.
  redis.call('ZADD', fair, 'NX', 0, 'now')
  renew(fair)
end
if turn and (must_renew or turn == 1) then renew(places_key(load, tenant)) end

-- Printed once: a number in a command is formatted anew each time. Not by %d, which has 32 bits on the embedded store.
local accepted_at = string.format('%.0f', now)
local queue_by = string.format('%.0f', now + queue_ms)
write_present(record, {
  kept, version = VERSION, status = QUEUED, seq = '1', accepted_at = accepted_at, queue_by = queue_by,
  context_turns = turns_before + 1, context_calls = context_calls,
  asked_bytes = string.format('%.0f', bytes_before + #input + large_bytes - (request_ahead or 0)),
  large_bytes = request_ahead and large_bytes or '', request_ahead = request_ahead or '',
  idempotency = digest ~= '' and idempotency or '', turn = turn or '', tag = tag or '', cost = cost,
  tokens = tokens_per_minute and tokens or '', reserved = reserve(budgets),
  input_tokens = string.format('%.0f', input_tokens), held = print_parts({ new_parts[1] })
})
change_held(held, gone_parts, new_parts)
redis.call('ZADD', open, queue_by, id)
for _, warning in ipairs(outbox_most and warnings_of(budgets) or {}) do
  local of, limit, most, taken, period = unpack(warning)
  redis.call('XADD', outbox, 'MAXLEN', '~', outbox_most, '*', 'event', 'budget.warning', 'tenant', tenant, 'at', accepted_at,
    'key', of == 'key' and key or '', 'budget', limit, 'limit', most, 'used', taken, 'period', period)
end
-- Nothing of an open response expires. Its end starts its retention, and the rescue ends what nobody else does.
if request_ahead then
  redis.call('PERSIST', large)
end
if digest ~= '' then
  redis.call('DEL', idempotency)
  redis.call('HSET', idempotency, 'id', id, 'digest', digest, 'record', record, 'held', print_parts({ new_parts[2] }))
  redis.call('PEXPIRE', idempotency, key_ms)
end
if stored == '1' then
  -- With nobody's entry: a list that lost its last response would be gone, and its expiry with it.
  local added = redis.call('ZADD', stored_list, 0, '', accepted_at, id)
  if must_renew or added == 2 then
    redis.call('ZREMRANGEBYSCORE', stored_list, '(0', now - hold_ms - longer_ms)
    renew(stored_list)
  end
end
if stream == '1' then
  redis.call('XADD', log, '1-0', 'e', '{"type":"response.created"}')
  redis.call('XADD', log, '1-1', 'e', '{"type":"response.queued"}')
end
return { 'accepted', left, reset, accepted_at, tokens_left, tokens_reset, priority or '' }
