-- A caller left: takes its api process off a response and, when nobody waits any more, asks for the end.
--
-- KEYS  record
-- ARGV  lease (of the api process), grace_ms (longer grace than the response's own, or 0), reason (given with the request)
--
-- Returns { kind, status }:
--   unknown_version   written by another release; nothing was changed
--   missing    no such record
--   terminal   already ended
--   detached   others still wait, or the grace runs, or it goes on in the background
--   asked      the end was asked for; if the status is queued, nobody runs it and the caller writes the end

local f = read(record, 'version id status watchers background left_at grace_ms worker postponed_by')
if not f.status then return { 'missing', '' } end
if f.version ~= VERSION then return { 'unknown_version', '' } end
f.watchers = without_watcher(f.watchers, lease)
f.grace_ms = math.max(f.grace_ms or 0, grace_ms)
write(record, { watchers = f.watchers, grace_ms = f.grace_ms })
if not is_open(f.status) then return { 'terminal', f.status } end
if not note_absence(record, f, now_ms()) then return { 'detached', f.status } end
ask_for_end(record, f, reason)
return { 'asked', f.status }
