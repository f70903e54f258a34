-- Takes back a response whose caller was refused because the accept, or the adding of the job, got no answer.
--
-- KEYS[1] record   KEYS[2] input
--
-- Returns { kind, status }:
--   missing    it was never accepted; an input that went ahead of the accept is gone now
--   terminal   already ended
--   detached   somebody else was told that it is accepted, under the same idempotency key: it goes on
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local f = redis.call('HMGET', KEYS[1], 'status', 'followed', 'enqueued')
if not f[1] then
  redis.call('UNLINK', KEYS[2])
  return { 'missing', '' }
end
if f[1] ~= 'queued' and f[1] ~= 'in_progress' then return { 'terminal', f[1] } end
if f[2] or f[3] then return { 'detached', f[1] } end
ask_for_end(KEYS[1], 'refused')
return { 'asked', f[1] }
