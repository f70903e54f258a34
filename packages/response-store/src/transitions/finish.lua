-- Ends a response: status, result, log, counts and everybody who listens, in one step.
--
-- KEYS  record, log, open, load, large, outbox; for a long end, where its attempt has written it, and where it goes
-- ARGV  id
--       token              of the ending attempt; empty for an end written while nobody runs the response
--       first              sequence number of the first event
--       status, before     the status it ends in, and those that may precede it, joined by spaces
--       result             what the end adds to the response, as JSON that begins with the response's id; empty for a long one
--       end_bytes          how long a long end is; empty for any other
--       record_ms, log_ms  how long record and log stay after the end
--       now      by the store's clock, as the process knows it, ms; empty to ask the store
--       tokens   that it took, of all that it continues from as well; empty to leave what was reserved
--       counted  of these: input, input from a cache, input written to one, and output
--       calls, calls_length   tool calls in the output, and the most of a list that is kept; see tool-calls.ts
--       reason   why somebody asked for this end; empty when that is known, or nobody did
--       server   that ran it, where its provider has several; empty otherwise
--       told, outbox_most, outbox_ends  what the outbox tells of the end beside what the record says, how many ends wait there at
--                most, and whether all are told or those in the background; each empty when nobody reads it
--       then, for a streamed response, events as JSON, in order, a long one as long-events.lua says; the last one ends the
--       response and is its type alone
--
-- Returns one word, or a list of it and then id, queue and priority of each response that may go into its queue now:
--   ok          ended, or ended before by this very attempt (a retry after a lost reply)
--   superseded  another attempt holds the lease, or the status may not follow; nothing was written
--   terminal    the response had ended already, and it is not known that this very writer ended it; nothing was written
--   missing     no such record; nothing was written
--   lost        what was written of a long end or event is not there, or not all of it; nothing was written
--   gap         events before the first one are not in the log; nothing was written

local f = read(record, 'status token seq watchers stream tenant queue weight turn tokens price reserved accepted_at started_at large_bytes idempotency asked_bytes held log_bytes long_events tier background key cancel')
if not f.status then return 'missing' end
-- The end itself has a number, also where no events are logged.
local count = math.max(#ARGV - more_args + 1, 1)
local last = first + count - 1
-- While it is queued nobody runs it: a lease there was taken by a worker that meant to end it and may be dead.
local is_mine = (f.token or '') == token or (token == '' and f.status == QUEUED)
if not is_open(f.status) then
  if token ~= '' and is_mine and status == f.status and last == f.seq then return 'ok' end
  return 'terminal'
end
if not is_mine then return 'superseded' end
if first ~= f.seq + 1 then return 'gap' end
local written, long_end = KEYS[more_keys], KEYS[more_keys + 1]
if end_bytes and redis.call('STRLEN', written) ~= end_bytes then return 'lost' end
local bytes_apart, long = look_at_long_events(log, first, more_args, #ARGV)
if not bytes_apart then return 'lost' end
if not string.find(' ' .. before .. ' ', ' ' .. f.status .. ' ', 1, true) then return 'superseded' end

-- From now on it is known when it goes, and how large it is. The accept of an older release has counted nothing of it.
now = now or now_ms()
local before_parts = parts_of(f.held)
local own = before_parts[1] and before_parts[1][2] or bytes_of(f.weight) + room_of(f.large_bytes or 0) + per_record
local result_bytes = end_bytes or #result
local parts = { { gone_by(now, record_ms), own + result_bytes + room_of(end_bytes or 0) + #calls + #server } }
if f.stream then
  local log_bytes = (f.log_bytes or 0) + last * per_event + bytes_apart
  for at = more_args, #ARGV do log_bytes = log_bytes + #ARGV[at] end
  parts[2] = { gone_by(now, log_ms), log_bytes }
end

-- A later response that continues from this one has all of it before it.
if reason ~= '' then write_once(record, 'cancel', reason) end
write(record, {
  status = status, seq = last, result = result, context_bytes = string.format('%.0f', (f.asked_bytes or 0) + result_bytes),
  context_tokens = tokens or '', held = print_parts(parts)
})
if end_bytes then
  write(record, { end_bytes = end_bytes })
  redis.call('RENAME', written, long_end)
  redis.call('PEXPIRE', long_end, record_ms)
end
if calls ~= '' then
  local before = read(record, 'context_calls').context_calls or ''
  write(record, { context_calls = string.sub(before .. calls, -calls_length) })
end
if server ~= '' then write(record, { server = server }) end
redis.call('PEXPIRE', record, record_ms)
redis.call('ZREM', open, id)
local spend = f.price and tokens and price_of(f.price, counted)
finish(load, id, f, tokens, now, spend)
if f.large_bytes then redis.call('PEXPIRE', large, record_ms) end
if is_repeatable(status) and f.idempotency then
  local key = redis.call('HMGET', f.idempotency, 'id', 'held')
  if key[1] == id then
    redis.call('DEL', f.idempotency)
    for _, part in ipairs(parts_of(key[2])) do before_parts[#before_parts + 1] = part end
  end
end
replace_held(load, f.tenant, now, before_parts, parts)
-- The callers of others wait for their ends and know them, but usage needs them all. Nobody was told of a response that was refused.
if outbox_most and (f.background or outbox_ends == 'all') and f.cancel ~= 'refused' then
  redis.call('XADD', outbox, 'MAXLEN', '~', outbox_most, '*', 'id', id, 'status', status, 'tenant', f.tenant, 'tier', f.tier,
    'key', f.key or '', 'background', f.background and 1 or 0, 'accepted', f.accepted_at, 'started', f.started_at or '',
    'ended', string.format('%.0f', now), 'spend', spend and print_amount(spend) or '', 'told', told)
end
if not f.stream then
  tell_watchers(f.watchers, id, { result }, end_bytes)
  return f.turn and let_in('ok', record, id, load, f.tenant) or 'ok'
end
local lines = { id .. ' ' .. first .. ' ' .. count .. ' ' .. status }
for at = more_args, #ARGV do
  redis.call('XADD', log, '1-' .. (first + at - more_args), 'e', ARGV[at])
  lines[#lines + 1] = ARGV[at]
end
redis.call('PEXPIRE', log, log_ms)
for name in string.gmatch(f.long_events or '', '%S+') do long[#long + 1] = name end
if long[1] then write(record, { long_events = keep_long_events(log, long, log_ms) }) end
lines[#lines + 1] = result
tell_watchers(f.watchers, id, lines, (end_bytes or 0) + bytes_apart)
return f.turn and let_in('ok', record, id, load, f.tenant) or 'ok'
