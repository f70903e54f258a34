-- Asks for the end of a response, whether or not anybody waits for it.
--
-- KEYS  record
-- ARGV  reason   given with the request
--       unless_held   1 to leave a response alone that is in the hands of a worker; empty to ask in any case
--
-- Returns { kind, status }:
--   unknown_version   written by another release; nothing was changed
--   missing    no such record
--   terminal   already ended; nothing was changed
--   held       a worker that lives has it, and it was to be left alone then; nothing was changed
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local f = read(record, 'version id status worker postponed_by')
if not f.status then return { 'missing', '' } end
if f.version ~= VERSION then return { 'unknown_version', '' } end
if not is_open(f.status) then return { 'terminal', f.status } end
local is_held = f.worker and f.worker ~= '' and redis.call('EXISTS', f.worker) == 1
if unless_held == '1' and is_held then return { 'held', f.status } end
ask_for_end(record, f, reason)
return { 'asked', f.status }
