-- Somebody asked for the end of a response, whoever else waits for it.
--
-- KEYS[1] record
-- ARGV[1] reason given with the request
--
-- Returns { kind, status }:
--   missing    no such record
--   terminal   already ended; nothing was changed
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local status = redis.call('HGET', KEYS[1], 'status')
if not status then return { 'missing', '' } end
if status ~= 'queued' and status ~= 'in_progress' then return { 'terminal', status } end
ask_for_end(KEYS[1], ARGV[1])
return { 'asked', status }
