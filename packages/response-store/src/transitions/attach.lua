-- Adds an api process to those that have somebody attached to a response. From then on it is a caller of it.
--
-- KEYS  record
-- ARGV  lease   of the api process
-- Returns the status, or nothing when there is no such record, another release wrote it, or it is or was taken back because
-- the caller for whom it was accepted was refused.

local f = read(record, 'version status watchers cancel')
if not f.status or f.version ~= VERSION then return false end
-- Its end may have been faster: then there is an answer.
if f.cancel == 'refused' and (is_open(f.status) or is_repeatable(f.status)) then return false end
local others = without_watcher(f.watchers, lease)
write(record, { watchers = others == '' and lease or (others .. ' ' .. lease), followed = '1' })
clear(record, 'left_at')
return f.status
