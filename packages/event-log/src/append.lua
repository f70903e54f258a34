-- Appends a batch of events to a response and, with the last one, ends it: one step for the log, the status,
-- the result, the counts and everybody who listens.
--
-- KEYS[1] record   KEYS[2] log   KEYS[3] open   KEYS[4] load   KEYS[5] input
-- ARGV[1] token of the writing attempt; empty for an end written while nobody runs it
-- ARGV[2] sequence number of the first event
-- ARGV[3] status the batch ends in, empty while it goes on
-- ARGV[4] statuses that may precede it, joined by spaces
-- ARGV[5] result: what the end adds to the response, as JSON
-- ARGV[6] how long record and input stay after the end, ms   ARGV[7] how long the log stays, ms
-- ARGV[8…] events as JSON, in order; the event that ends a response is its last one, abbreviated to its type
--
-- Returns { kind, cancel }: `cancel` is the reason somebody gave for wanting the end, or empty.
--   ok          written, or written before by this very attempt (a retry after a lost reply)
--   superseded  another attempt holds the lease; nothing was written
--   terminal    the response had ended already; nothing was written
--   missing     no such record; nothing was written
--   gap         events before the first one are not in the log; nothing was written

local record, token, first, status = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local f = redis.call('HMGET', record, 'status', 'token', 'seq', 'watchers', 'stream', 'cancel', 'tenant', 'bytes', 'id')
local before, seq = f[1], tonumber(f[3] or '0')
local cancel = f[6] or ''
if not before then return { 'missing', '' } end
local count = #ARGV - 7
local last = first + count - 1
-- While it is queued nobody runs it: a lease there was taken by a worker that meant to end it and may be dead.
local is_mine = (f[2] or '') == token or (token == '' and before == 'queued')
if before ~= 'queued' and before ~= 'in_progress' then
  if is_mine and status == before and last == seq then return { 'ok', cancel } end
  return { 'terminal', cancel }
end
if not is_mine then return { 'superseded', cancel } end
if status == '' and last <= seq then return { 'ok', cancel } end
if first ~= seq + 1 then return { 'gap', cancel } end
if status ~= '' and not string.find(' ' .. ARGV[4] .. ' ', ' ' .. before .. ' ', 1, true) then
  return { 'superseded', cancel }
end

local streams = f[5] == '1'
if streams then
  for at = 8, #ARGV do
    redis.call('XADD', KEYS[2], '1-' .. (first + at - 8), 'e', ARGV[at])
  end
end
if status == '' then
  redis.call('HSET', record, 'seq', last)
else
  redis.call('HSET', record, 'seq', last, 'status', status, 'result', ARGV[5], 'ended_at', now_ms())
  redis.call('ZREM', KEYS[3], f[9])
  if before == 'queued' then leave_queue(KEYS[4], f[7], f[8]) end
  redis.call('PEXPIRE', record, ARGV[6])
  -- A failure or a cancellation leaves its idempotency key free for another try.
  local key = (status == 'failed' or status == 'cancelled') and redis.call('HGET', record, 'idempotency')
  if key and redis.call('HGET', key, 'id') == f[9] then redis.call('DEL', key) end
  redis.call('PEXPIRE', KEYS[5], ARGV[6])
  if streams then redis.call('PEXPIRE', KEYS[2], ARGV[7]) end
end

if f[4] and f[4] ~= '' then
  local lines = { f[9] .. ' ' .. first .. ' ' .. count .. ' ' .. (status == '' and '-' or status) }
  for at = 8, #ARGV do lines[#lines + 1] = ARGV[at] end
  if status ~= '' then lines[#lines + 1] = ARGV[5] end
  tell_watchers(f[4], table.concat(lines, '\n'))
end
return { 'ok', cancel }
