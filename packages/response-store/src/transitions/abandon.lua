-- Takes back a response whose caller was refused because the accept, or the adding of the job, got no answer.
--
-- KEYS  record, large
-- ARGV  deadline   of the accept, ms: it does nothing past that
--
-- Returns { kind, status, started at }:
--   unknown_version   written by another release; nothing was changed
--   undecided  it was not accepted, and still may be: its accept can arrive until the deadline
--   missing    it was not accepted and will not be; a large value that went ahead of the accept is gone now
--   terminal   already ended
--   detached   somebody else was told that it is accepted, under the same idempotency key: it goes on
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local f = read(record, 'version id status worker postponed_by followed enqueued started_at')
local started_at = f.started_at or ''
if not f.status then
  redis.call('UNLINK', large)
  return { now_ms() > deadline and 'missing' or 'undecided', '', '' }
end
if f.version ~= VERSION then return { 'unknown_version', '', '' } end
if not is_open(f.status) then return { 'terminal', f.status, started_at } end
if f.followed or f.enqueued then return { 'detached', f.status, started_at } end
ask_for_end(record, f, 'refused')
return { 'asked', f.status, started_at }
